//! How late jobs started: the time from due to claimed.

use serde::Serialize;
use serde_json::Value;
use windlass::store::{Clock, SystemClock};
use windlass::{JobId, QueueName, Store, Timestamp};
use windlass_api::{Code, Error, JobEnd, timestamp, wait_for_end};

use super::post::{Endpoint, rejected};
use super::{DELAYED, SubmittedJob};
use windlass_terminal::env;
use windlass_terminal::exit::{CliError, Result};

/// Lateness of all jobs that ran, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Lateness {
    p50: u64,
    p99: u64,
    max: u64,
    /// Number of jobs that ran before they were due; must be 0.
    early: usize,
    /// Number of jobs that ended without running: cancelled or deleted.
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
        let late = format!("lateness: p50 {p50} ms, p99 {p99} ms, max {max} ms; {early} early");
        match never_ran {
            0 => late,
            _ => format!("{late}; {never_ran} never ran"),
        }
    }
}

/// Samples collected so far.
#[derive(Debug, Default)]
struct Samples {
    late: Vec<i128>,
    never_ran: usize,
}

impl Samples {
    fn started(&mut self, due: Timestamp, started: Timestamp) {
        let late = i128::from(started.as_ms()) - i128::from(due.as_ms());
        self.late.push(late);
    }

    /// Counts a job whose start time is unknown: it started no later than `now`. A job that ended
    /// before it was due never ran.
    fn ended(&mut self, due: Timestamp, now: Timestamp) {
        if now < due {
            self.never_ran += 1;
        } else {
            self.started(due, now);
        }
    }

    fn summarize(mut self) -> Lateness {
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

/// Sorts the jobs by due time, so that each is waited for soon after it ends.
fn by_due(jobs: &[SubmittedJob]) -> Vec<&SubmittedJob> {
    let mut jobs: Vec<_> = jobs.iter().collect();
    jobs.sort_by_key(|job| job.due);
    jobs
}

pub(super) async fn in_store(
    store: &dyn Store,
    queue: &QueueName,
    jobs: &[SubmittedJob],
) -> Result<Lateness> {
    let mut samples = Samples::default();
    for submitted in by_due(jobs) {
        let id = JobId::new(&submitted.id)?;
        match wait_for_end(store, queue, &id, None).await? {
            JobEnd::Ended(job) => match job.started_at {
                Some(started) => samples.started(submitted.due, started),
                None => samples.never_ran += 1,
            },
            _ => samples.ended(submitted.due, now()),
        }
    }
    Ok(samples.summarize())
}

/// Measures over HTTP. For a job that was not retained only its end is visible, so the result may be
/// too large but never too small.
pub(super) async fn over_http(
    endpoint: &Endpoint,
    queue: Option<&QueueName>,
    jobs: &[SubmittedJob],
) -> Result<Lateness> {
    let mut client = endpoint.connect().await?;
    let token = env::http_token();
    let name = queue.map_or(DELAYED, QueueName::as_str);
    // Without --queue the server chooses the queue and does not report which.
    let mut is_their_queue = queue.is_some() || jobs.is_empty();
    let mut samples = Samples::default();
    for submitted in by_due(jobs) {
        let path = format!("/v1/queues/{name}/jobs/{}/wait?timeout=50s", submitted.id);
        loop {
            let response = client.get(&path, token.as_deref()).await?;
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let status = response.status.as_u16();
            is_their_queue |= matches!(status, 200 | 408 | 410);
            match status {
                200 => read(&mut samples, submitted.due, &body),
                // The job ended before the wait began and was not retained, or the queue is wrong.
                404 | 410 => samples.ended(submitted.due, now()),
                408 => continue,
                status => return Err(rejected(status, &body)),
            }
            break;
        }
    }
    if is_their_queue {
        Ok(samples.summarize())
    } else {
        Err(wrong_queue(jobs.len()))
    }
}

/// Counts an ended job from the reply of the server.
fn read(samples: &mut Samples, due: Timestamp, body: &Value) {
    let started = body["started_at"].as_str().map(timestamp::parse);
    match started {
        Some(Ok(started)) => samples.started(due, started),
        // A complete job without a start time: it was never claimed.
        None if body["created_at"].is_string() => samples.never_ran += 1,
        _ => samples.ended(due, now()),
    }
}

/// None of the jobs was found in the watched queue.
fn wrong_queue(count: usize) -> CliError {
    CliError::from(Error::new(
        Code::NotFound,
        format!(
            "{count} jobs were submitted, but none is in queue {DELAYED} of the server: \
             the server uses another queue, or all jobs have already ended"
        ),
        "pass the server's --delayed-queue with --queue; the submitted jobs are kept",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_the_sorted_samples() {
        let summarize = |late: Vec<i128>| {
            let never_ran = 0;
            Samples { late, never_ran }.summarize()
        };
        let late = summarize((0..100).rev().collect());
        assert_eq!((late.p50, late.p99, late.max, late.early), (50, 99, 99, 0));
        assert_eq!(summarize(vec![-5, 3]).early, 1);
        assert_eq!(summarize(Vec::new()).max, 0);
    }

    #[test]
    fn a_job_that_ended_before_it_was_due_never_ran_and_was_not_early() {
        let mut samples = Samples::default();
        samples.ended(Timestamp::from_ms(1000), Timestamp::from_ms(999));
        samples.ended(Timestamp::from_ms(1000), Timestamp::from_ms(1007));
        let late = samples.summarize();
        assert_eq!((late.max, late.early, late.never_ran), (7, 0, 1));
    }
}
