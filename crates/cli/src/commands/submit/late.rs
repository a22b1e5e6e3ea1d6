//! How late jobs were: from the time they fell due to the time a worker took them.

use serde::Serialize;
use serde_json::Value;
use windlass::store::{Clock, SystemClock};
use windlass::{JobId, QueueName, Store, Timestamp};
use windlass_api::{Error, JobEnd, timestamp, wait_for_end};

use super::super::serve;
use super::post::{Endpoint, refused};
use super::{DELAYED, Put};
use crate::exit::{Failure, Result};

/// Figures of all jobs that ran, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Lateness {
    p50: u64,
    p99: u64,
    max: u64,
    /// How many ran before they were due; it has to be none.
    early: usize,
    /// How many ended without a run: somebody cancelled or removed them.
    never_ran: usize,
}

impl Lateness {
    pub(super) fn text(&self) -> String {
        let Self {
            p50,
            p99,
            max,
            early,
            never_ran,
        } = self;
        let late =
            format!("late by {p50} ms (p50), {p99} ms (p99), {max} ms (most); {early} early");
        match never_ran {
            0 => late,
            _ => format!("{late}; {never_ran} never ran"),
        }
    }
}

/// What is known so far.
#[derive(Debug, Default)]
struct Tally {
    late: Vec<i128>,
    never_ran: usize,
}

impl Tally {
    fn taken(&mut self, due: Timestamp, taken: Timestamp) {
        let late = i128::from(taken.as_ms()) - i128::from(due.as_ms());
        self.late.push(late);
    }

    /// It has ended, and nobody kept when it was taken: no later than now. What has ended before it
    /// was due was not run.
    fn ended(&mut self, due: Timestamp, now: Timestamp) {
        if now < due {
            self.never_ran += 1;
        } else {
            self.taken(due, now);
        }
    }

    fn figures(mut self) -> Lateness {
        self.late.sort_unstable();
        let late = self.late;
        let at = |percent: usize| {
            let at = (late.len() * percent / 100).min(late.len().saturating_sub(1));
            late.get(at)
                .map_or(0, |ms| u64::try_from(*ms).unwrap_or_default())
        };
        Lateness {
            p50: at(50),
            p99: at(99),
            max: at(100),
            early: late.iter().filter(|ms| **ms < 0).count(),
            never_ran: self.never_ran,
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_ms(SystemClock.now_us() / 1000)
}

/// In the order in which they fall due, so that none is waited for long after its end.
fn by_due(put: &[Put]) -> Vec<&Put> {
    let mut put: Vec<_> = put.iter().collect();
    put.sort_by_key(|put| put.due);
    put
}

pub(super) async fn in_store(
    store: &dyn Store,
    queue: &QueueName,
    put: &[Put],
) -> Result<Lateness> {
    let mut tally = Tally::default();
    for put in by_due(put) {
        let id = JobId::new(&put.id)?;
        match wait_for_end(store, queue, &id, None).await? {
            JobEnd::Ended(job) => match job.started_at {
                Some(taken) => tally.taken(put.due, taken),
                None => tally.never_ran += 1,
            },
            _ => tally.ended(put.due, now()),
        }
    }
    Ok(tally.figures())
}

/// Over HTTP a job that was not kept is seen to have ended, no earlier: these figures may be too
/// large, never too small.
pub(super) async fn over_http(
    endpoint: &Endpoint,
    queue: Option<&QueueName>,
    put: &[Put],
) -> Result<Lateness> {
    let mut client = endpoint.connect().await?;
    let token = serve::token();
    let name = queue.map_or(DELAYED, QueueName::as_str);
    // Jobs that were put into no named queue are where the server keeps them, which it does not say.
    let mut is_their_queue = queue.is_some() || put.is_empty();
    let mut tally = Tally::default();
    for put in by_due(put) {
        let path = format!("/v1/queues/{name}/jobs/{}/wait?timeout=50s", put.id);
        loop {
            let reply = client.get(&path, token.as_deref()).await?;
            let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let status = reply.status.as_u16();
            is_their_queue |= matches!(status, 200 | 408 | 410);
            match status {
                200 => read(&mut tally, put.due, &said),
                // It was not kept and had ended before it was waited for, unless the queue is wrong.
                404 | 410 => tally.ended(put.due, now()),
                408 => continue,
                status => return Err(refused(status, &said)),
            }
            break;
        }
    }
    if is_their_queue {
        Ok(tally.figures())
    } else {
        Err(elsewhere(put.len()))
    }
}

/// Counts a job as the server tells of its end.
fn read(tally: &mut Tally, due: Timestamp, said: &Value) {
    let taken = said["started_at"].as_str().map(timestamp::parse);
    match taken {
        Some(Ok(taken)) => tally.taken(due, taken),
        // A whole job without that time: no worker ever had it.
        None if said["created_at"].is_string() => tally.never_ran += 1,
        _ => tally.ended(due, now()),
    }
}

/// Not one of the jobs was seen in the queue that is watched.
fn elsewhere(count: usize) -> Failure {
    Failure::from(Error::new(
        "not_found",
        format!(
            "{count} jobs were submitted, and the queue {DELAYED} of the server has none of them: \
             the server keeps them in another queue, or all had ended before anybody looked"
        ),
        "name the queue of `windlass serve --delayed-queue` with --queue; what was submitted stays",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_jobs() {
        let figures = |late: Vec<i128>| {
            let never_ran = 0;
            Tally { late, never_ran }.figures()
        };
        let late = figures((0..100).rev().collect());
        assert_eq!((late.p50, late.p99, late.max, late.early), (50, 99, 99, 0));
        assert_eq!(figures(vec![-5, 3]).early, 1);
        assert_eq!(figures(Vec::new()).max, 0);
    }

    #[test]
    fn a_job_that_ended_before_it_was_due_never_ran_and_was_not_early() {
        let mut tally = Tally::default();
        tally.ended(Timestamp::from_ms(1000), Timestamp::from_ms(999));
        tally.ended(Timestamp::from_ms(1000), Timestamp::from_ms(1007));
        let late = tally.figures();
        assert_eq!((late.max, late.early, late.never_ran), (7, 0, 1));
    }
}
