//! How late jobs were: from the time they fell due to the time a worker took them.

use serde::Serialize;
use serde_json::Value;
use windlass::store::{Clock, SystemClock};
use windlass::{JobId, QueueName, Store, Timestamp};
use windlass_api::{End, moment, wait_for_end};
use windlass_server::Client;

use super::super::serve;
use super::{Put, refused};
use crate::exit::Result;

/// Figures of all jobs, in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Lateness {
    p50: u64,
    p99: u64,
    max: u64,
    /// How many ran before they were due; it has to be none.
    early: usize,
}

impl Lateness {
    fn of(mut late: Vec<i128>) -> Self {
        late.sort_unstable();
        let at = |percent: usize| {
            let at = (late.len() * percent / 100).min(late.len().saturating_sub(1));
            late.get(at)
                .map_or(0, |ms| u64::try_from(*ms).unwrap_or_default())
        };
        Self {
            p50: at(50),
            p99: at(99),
            max: at(100),
            early: late.iter().filter(|ms| **ms < 0).count(),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self {
            p50,
            p99,
            max,
            early,
        } = self;
        format!("late by {p50} ms (p50), {p99} ms (p99), {max} ms (most); {early} early")
    }
}

fn between(due: Timestamp, taken: Timestamp) -> i128 {
    i128::from(taken.as_ms()) - i128::from(due.as_ms())
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
    let mut late = Vec::new();
    for put in by_due(put) {
        let id = JobId::new(&put.id)?;
        let end = wait_for_end(store, queue, &id, None).await?;
        let taken = match end {
            End::Ended(job) => job.started_at.unwrap_or_else(now),
            // It was not kept: no later than now.
            _ => now(),
        };
        late.push(between(put.due, taken));
    }
    Ok(Lateness::of(late))
}

/// Over HTTP a job that was not kept is seen to have ended, no earlier: these figures may be too
/// large, never too small.
pub(super) async fn over_http(url: &str, queue: &str, put: &[Put]) -> Result<Lateness> {
    let mut client = Client::connect(url).await?;
    let token = serve::token();
    let mut late = Vec::new();
    for put in by_due(put) {
        let path = format!("/v1/queues/{queue}/jobs/{}/wait?timeout=50s", put.id);
        let taken = loop {
            let reply = client.get(&path, token.as_deref()).await?;
            let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            match reply.status.as_u16() {
                200 => break started(&said).unwrap_or_else(now),
                // It has ended and was not kept, before it was waited for.
                404 | 410 => break now(),
                408 => {}
                status => return Err(refused(status, &said)),
            }
        };
        late.push(between(put.due, taken));
    }
    Ok(Lateness::of(late))
}

fn started(said: &Value) -> Option<Timestamp> {
    moment::parse(said["started_at"].as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_jobs() {
        let late = Lateness::of((0..100).rev().collect());
        assert_eq!((late.p50, late.p99, late.max, late.early), (50, 99, 99, 0));
        assert_eq!(Lateness::of(vec![-5, 3]).early, 1);
        assert_eq!(Lateness::of(Vec::new()).max, 0);
    }
}
