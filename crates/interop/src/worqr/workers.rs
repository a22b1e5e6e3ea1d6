//! Starts, keeps alive and fails workers.

use std::time::Duration;

use redis::Value;
use windlass_core::{Error, ErrorKind, Result};

use super::keys::WorqrLayout;
use super::processes::expired;
use super::queues::number_arg;
use super::scan::ScanTarget;
use super::{Worqr, arg, scripts};
use crate::reply::{self, count};

/// How long a worker stays alive after its last heartbeat (`workerTimeout`).
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// Heartbeat interval (`workerHeartbeatInterval`).
pub const HEARTBEAT: Duration = Duration::from_secs(1);

/// Maximum number of processes to return per script call.
const RETURN_MAX: usize = 1000;

/// How long a worker stays alive without a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// This long, rounded up to whole seconds.
    Expiring(Duration),
    /// Until it is failed (a negative `workerTimeout`). Released layout only.
    Permanent,
}

impl Default for Lifetime {
    fn default() -> Self {
        Self::Expiring(TIMEOUT)
    }
}

/// Result of failing a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerFailure {
    /// The worker was removed, and this many tasks were returned.
    Ended(u64),
    /// This many tasks were returned. It is an original worker, and another living original serves the
    /// same queue, so the owner of the remaining processes is unknown. It stays recorded as dead until
    /// the original's cleanup handles it, or Windlass does once the others are gone.
    Undecided(u64),
    /// The worker does not exist.
    Unknown,
}

/// Condition for failing a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailIf {
    Always,
    Expired,
}

impl Worqr {
    /// Registers a worker and starts its timer (`startWorker`).
    pub async fn start_worker(&self, worker: &str, lifetime: Lifetime) -> Result<()> {
        self.check_worker(worker)?;
        let seconds = match lifetime {
            Lifetime::Expiring(timeout) => whole_seconds(timeout)?,
            Lifetime::Permanent if self.keys.layout() == WorqrLayout::Released => 0,
            Lifetime::Permanent => {
                return Err(Error::invalid(
                    "lifetime",
                    "the document layout has no permanent workers",
                    "set a timeout, or use --layout released",
                ));
            }
        };
        let args = vec![arg(worker), arg(&seconds.to_string())];
        let reply = self.run_repeating(&scripts::START_WORKER, args).await?;
        match reply::text(reply)?.as_str() {
            "started" => Ok(()),
            _ => Err(Error::new(
                ErrorKind::Conflict,
                format!("worker {worker} cannot start: the key of its timer is in use"),
                "use an id that is not a queue name, for example a UUID",
            )),
        }
    }

    /// Resets a worker's timer (`keepWorkerAlive`). Returns false if it had run out: the worker must
    /// restart.
    pub async fn keep_worker_alive(&self, worker: &str, timeout: Duration) -> Result<bool> {
        self.check_worker(worker)?;
        let seconds = whole_seconds(timeout)?;
        let args = vec![arg(worker), arg(&seconds.to_string())];
        Ok(count(&self.run_repeating(&scripts::KEEP_ALIVE, args).await?)? == 1)
    }

    /// Makes a worker serve a queue and publishes the number of waiting tasks (`startWork`). Listen
    /// first to miss nothing.
    pub async fn start_work(&self, worker: &str, queue: &str) -> Result<u64> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let args = vec![arg(worker), arg(queue)];
        let reply = self.run_repeating(&scripts::START_WORK, args).await?;
        let mut parts = reply::list(reply)?.into_iter();
        let mut next = || parts.next().unwrap_or(Value::Nil);
        match reply::text(next())?.as_str() {
            "started" => count(&next()),
            "unknown" => Err(Error::new(
                ErrorKind::NotFound,
                format!("worker {worker} not found"),
                "start it first: `windlass interop worqr start-worker ID`",
            )),
            _ => Err(expired(worker)),
        }
    }

    /// Publishes the number of waiting tasks of a queue, if any (`requestWork`). Returns that number.
    pub async fn request_work(&self, queue: &str) -> Result<u64> {
        self.check_queue(queue)?;
        count(
            &self
                .run_repeating(&scripts::REQUEST_WORK, vec![arg(queue)])
                .await?,
        )
    }

    /// Stops a worker serving a queue (`stopWork`). Returns its tasks to the front of the queue,
    /// notifies the other workers, and returns the number of tasks.
    pub async fn stop_work(&self, worker: &str, queue: &str) -> Result<u64> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let mut returned = 0;
        loop {
            let args = vec![arg(worker), arg(queue), number_arg(RETURN_MAX)];
            let reply = reply::list(self.run(&scripts::STOP_WORK, args).await?)?;
            let mut parts = reply.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            returned += count(&next())?;
            if count(&next())? == 0 {
                return Ok(returned);
            }
        }
    }

    /// Declares a worker dead (`failWorker`). Returns its tasks to the front of their queues and
    /// notifies the other workers.
    pub async fn fail_worker(&self, worker: &str) -> Result<WorkerFailure> {
        self.check_worker(worker)?;
        self.fail(worker, FailIf::Always).await
    }

    /// Fails a worker. Returns `Unknown` if it is alive and only an expired worker may be failed.
    pub(super) async fn fail(&self, worker: &str, condition: FailIf) -> Result<WorkerFailure> {
        let condition = match condition {
            FailIf::Always => "any",
            FailIf::Expired => "expired",
        };
        let mut returned = None;
        loop {
            let args = vec![arg(worker), arg(condition), number_arg(RETURN_MAX)];
            let reply = reply::list(self.run(&scripts::FAIL_WORKER, args).await?)?;
            let mut parts = reply.into_iter();
            let mut next = || parts.next().unwrap_or(Value::Nil);
            let status = reply::text(next())?;
            if status != "failed" && status != "undecided" {
                // After the first call this means that another client finished the job.
                return Ok(returned.map_or(WorkerFailure::Unknown, WorkerFailure::Ended));
            }
            let tasks = returned.unwrap_or(0) + count(&next())?;
            returned = Some(tasks);
            let is_last = count(&next())? == 0;
            if status == "undecided" {
                return Ok(WorkerFailure::Undecided(tasks));
            }
            if is_last {
                return Ok(WorkerFailure::Ended(tasks));
            }
        }
    }

    /// Returns the ids of all registered workers, dead or alive, sorted (`getWorkers`).
    pub async fn workers(&self) -> Result<Vec<String>> {
        let workers = self.keys.workers();
        let found = self.scan(ScanTarget::Members(&workers)).await?;
        Ok(found.into_iter().collect())
    }
}

fn whole_seconds(timeout: Duration) -> Result<u64> {
    let is_whole = timeout.subsec_nanos() == 0;
    let seconds = timeout.as_secs().saturating_add(u64::from(!is_whole));
    if seconds == 0 || seconds > u64::from(u32::MAX) {
        return Err(Error::invalid(
            "timeout",
            format!("must be 1 to {} seconds", u32::MAX),
            "use 3s, like the original clients, or more",
        ));
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_second_are_rounded_up() {
        assert_eq!(whole_seconds(Duration::from_millis(2_001)).unwrap(), 3);
        assert_eq!(whole_seconds(TIMEOUT).unwrap(), 3);
        assert!(whole_seconds(Duration::ZERO).is_err());
    }
}
