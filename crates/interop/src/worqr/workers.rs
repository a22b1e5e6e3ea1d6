//! The life of a worker, call by call.

use std::time::Duration;

use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

use super::keys::Layout;
use super::processes::expired;
use super::queues::{amount, number};
use super::search::Search;
use super::{Worqr, arg, scripts};
use crate::reply;

/// How long a worker counts as living after its last beat (`workerTimeout`).
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// How often a worker beats (`workerHeartbeatInterval`).
pub const BEAT: Duration = Duration::from_secs(1);

/// How many processes are taken back in one step; a worker with more is taken apart in several.
const STEP: usize = 1000;

/// How long a worker lives without a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// So long, in whole seconds, rounded up.
    Expiring(Duration),
    /// For good, until it is failed (a negative `workerTimeout`); the released layout alone has
    /// this.
    Permanent,
}

impl Default for Lifetime {
    fn default() -> Self {
        Self::Expiring(TIMEOUT)
    }
}

/// What came of failing a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// It is ended, and so many tasks went back.
    Ended(u64),
    /// So many tasks went back. It is a worker of the original, and others of its kind have processes
    /// at the same queue: nobody can tell which of them are whose. It stays noted as dead; its kin
    /// clean up after it as they always did, or we do when they are gone.
    Undecided(u64),
    /// There is no such worker.
    Unknown,
}

/// Which worker may be failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Any,
    Expired,
}

impl Worqr {
    /// Notes a worker as living (`startWorker`).
    pub async fn start_worker(&self, worker: &str, lifetime: Lifetime) -> Result<()> {
        self.check_worker(worker)?;
        let seconds = match lifetime {
            Lifetime::Expiring(timeout) => whole_seconds(timeout)?,
            Lifetime::Permanent if self.keys.layout() == Layout::Released => 0,
            Lifetime::Permanent => {
                return Err(Error::invalid(
                    "lifetime",
                    "the document's layout has no permanent workers",
                    "give the worker a timeout, or use the released layout",
                ));
            }
        };
        let args = vec![arg(worker), arg(&seconds.to_string())];
        let answer = self.run_repeating(&scripts::START_WORKER, args).await?;
        match reply::text(answer)?.as_str() {
            "started" => Ok(()),
            _ => Err(Error::new(
                ErrorKind::Conflict,
                format!("worker {worker} cannot start: something else has the key of its timer"),
                "choose an id that no queue has, for example a UUID",
            )),
        }
    }

    /// Sets a worker's timer again (`keepWorkerAlive`). `false` says that it ran out before: the
    /// worker failed to stay alive and must restart.
    pub async fn keep_worker_alive(&self, worker: &str, timeout: Duration) -> Result<bool> {
        self.check_worker(worker)?;
        let seconds = whole_seconds(timeout)?;
        let args = vec![arg(worker), arg(&seconds.to_string())];
        Ok(amount(&self.run_repeating(&scripts::KEEP_ALIVE, args).await?)? == 1)
    }

    /// Lets a worker serve a queue, and tells those who listen how many tasks wait there
    /// (`startWork`): listen first, start work then, and nothing is missed.
    pub async fn start_work(&self, worker: &str, queue: &str) -> Result<u64> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let args = vec![arg(worker), arg(queue)];
        let answer = self.run_repeating(&scripts::START_WORK, args).await?;
        let mut parts = reply::list(answer)?.into_iter();
        let mut next = || parts.next().unwrap_or(Value::Nil);
        match reply::text(next())?.as_str() {
            "started" => amount(&next()),
            "unknown" => Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no worker {worker}"),
                "start it first: start_worker, or `windlass interop worqr start-worker`",
            )),
            _ => Err(expired(worker)),
        }
    }

    /// Tells those who listen how many tasks wait in a queue, if any do (`requestWork`); answers
    /// that number.
    pub async fn request_work(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        amount(
            &self
                .run_repeating(&scripts::REQUEST_WORK, vec![arg(queue)])
                .await?,
        )
    }

    /// Ends a worker's service of a queue (`stopWork`). What it has in progress there goes back to
    /// the front, and the others are told; answers how many tasks that were.
    pub async fn stop_work(&self, worker: &str, queue: &str) -> Result<u64> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let mut put_back = 0;
        loop {
            let args = vec![arg(worker), arg(queue), number(STEP)];
            let answer = reply::list(self.run(&scripts::STOP_WORK, args).await?)?;
            let mut parts = answer.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            put_back += amount(&next())?;
            if amount(&next())? == 0 {
                return Ok(put_back);
            }
        }
    }

    /// Declares a worker dead (`failWorker`). Its own tasks go back to the front of their queues,
    /// and the others are told.
    pub async fn fail_worker(&self, worker: &str) -> Result<Failed> {
        self.check_worker(worker)?;
        self.fail(worker, Victim::Any).await
    }

    /// A worker that lives and may not be failed counts as unknown.
    pub(super) async fn fail(&self, worker: &str, victim: Victim) -> Result<Failed> {
        let victim = match victim {
            Victim::Any => "any",
            Victim::Expired => "expired",
        };
        let mut put_back = None;
        loop {
            let args = vec![arg(worker), arg(victim), number(STEP)];
            let answer = reply::list(self.run(&scripts::FAIL_WORKER, args).await?)?;
            let mut parts = answer.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            let word = reply::text(next())?;
            if word != "failed" && word != "undecided" {
                // After a first step this says that somebody else went on with it.
                return Ok(put_back.map_or(Failed::Unknown, Failed::Ended));
            }
            let tasks = put_back.unwrap_or(0) + amount(&next())?;
            put_back = Some(tasks);
            let is_over = amount(&next())? == 0;
            if word == "undecided" {
                return Ok(Failed::Undecided(tasks));
            }
            if is_over {
                return Ok(Failed::Ended(tasks));
            }
        }
    }

    /// All workers that are noted, dead or alive (`getWorkers`), by id.
    pub async fn workers(&self) -> Result<Vec<String>> {
        let workers = self.keys.workers();
        let found = self.search(Search::Members(&workers)).await?;
        Ok(found.into_iter().collect())
    }
}

fn whole_seconds(timeout: Duration) -> Result<u64> {
    let is_whole = timeout.subsec_nanos() == 0;
    let seconds = timeout.as_secs().saturating_add(u64::from(!is_whole));
    if seconds == 0 || seconds > u64::from(u32::MAX) {
        return Err(Error::invalid(
            "timeout",
            format!("a timer runs from 1 to {} seconds", u32::MAX),
            "give 3s, as the other clients do, or more",
        ));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_second_is_rounded_up() {
        assert_eq!(whole_seconds(Duration::from_millis(2_001)).unwrap(), 3);
        assert_eq!(whole_seconds(TIMEOUT).unwrap(), 3);
        assert!(whole_seconds(Duration::ZERO).is_err());
    }
}
