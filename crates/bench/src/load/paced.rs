//! Producers at a fixed pace with a worker at the same time: how long jobs wait from the moment
//! they should have been sent.
//!
//! A producer that is held up is late, and its jobs count as waiting meanwhile. So a store that
//! answers slowly cannot hide it by slowing the load down. The timer adds up to a millisecond.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use windlass::{Client, NewJob, Result, StoreUrl};

use super::{QUEUE, Working, shares};
use crate::measure::{Latencies, real};
use crate::stage::Stage;

/// Before the first job is due, so that everybody is ready.
const LEAD: Duration = Duration::from_millis(50);

/// What a paced run found.
#[derive(Debug)]
pub(crate) struct Paced {
    pub(crate) waits: Arc<Latencies>,
}

/// Sends so many jobs at a rate, and runs them.
pub(crate) async fn run_paced(
    stage: &Stage<'_>,
    url: &StoreUrl,
    jobs: u64,
    per_second: f64,
) -> Result<Paced> {
    let client = stage.client(url).await?;
    let waits = Arc::new(Latencies::new());
    let start = Instant::now() + LEAD;
    let mut working = {
        let waits = Arc::clone(&waits);
        Working::start(stage, url, jobs, move |context| {
            let intended = start + intended(&context.job().payload);
            waits.record(Instant::now().saturating_duration_since(intended));
        })
        .await?
    };
    let producers = shares(jobs, stage.plan.producers).count();
    let paced = (0..producers as u64).map(|first| {
        let pace = Pace {
            first,
            every: producers as u64,
            jobs,
            per_second,
            start,
        };
        produce(client.clone(), pace, stage.plan.batch, stage.plan.payload)
    });
    let producing = stage.tasks.all(paced);
    tokio::try_join!(producing, working.reached(stage))?;
    working.end().await?;
    Ok(Paced { waits })
}

/// Which jobs one producer sends, and when.
#[derive(Debug, Clone, Copy)]
struct Pace {
    first: u64,
    every: u64,
    jobs: u64,
    per_second: f64,
    start: Instant,
}

impl Pace {
    fn offset(&self, number: u64) -> Duration {
        Duration::from_secs_f64(real(number) / self.per_second)
    }
}

async fn produce(client: Client, pace: Pace, batch: usize, bytes: usize) -> Result<()> {
    let mut next = pace.first;
    while next < pace.jobs {
        tokio::time::sleep_until((pace.start + pace.offset(next)).into()).await;
        // All that should have been sent by now goes in one call.
        let mut jobs = Vec::new();
        while next < pace.jobs
            && jobs.len() < batch
            && pace.start + pace.offset(next) <= Instant::now()
        {
            jobs.push(NewJob::new(stamped(pace.offset(next), bytes)));
            next += pace.every;
        }
        if jobs.is_empty() {
            continue;
        }
        for enqueued in client.enqueue_many_raw(QUEUE, jobs).await? {
            enqueued?;
        }
    }
    Ok(())
}

/// A payload that begins with when it should have been sent.
fn stamped(offset: Duration, bytes: usize) -> Bytes {
    let micros = u64::try_from(offset.as_micros()).unwrap_or(u64::MAX);
    let mut payload = micros.to_be_bytes().to_vec();
    payload.resize(bytes.max(payload.len()), b'x');
    payload.into()
}

fn intended(payload: &[u8]) -> Duration {
    let stamp = payload.first_chunk().copied().unwrap_or_default();
    Duration::from_micros(u64::from_be_bytes(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_tells_when_it_should_have_been_sent() {
        let offset = Duration::from_micros(1_234_567);
        let payload = stamped(offset, 100);
        assert_eq!((payload.len(), intended(&payload)), (100, offset));
    }
}
