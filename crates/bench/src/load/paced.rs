//! Producers at a fixed rate and a worker at the same time: measures how long jobs wait from the time
//! they should have been sent.
//!
//! The wait of a late job includes the delay of its producer, so a slow store cannot hide by slowing
//! down the load. The timer adds up to a millisecond.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use windlass::{Client, NewJob, Result, StoreUrl};

use super::{RunningWorker, enqueue, shares};
use crate::context::BenchContext;
use crate::measure::{Latencies, real};

/// Time before the first job, so that all tasks are ready.
const LEAD: Duration = Duration::from_millis(50);

/// Enqueues `jobs` at a fixed rate and runs them. Returns how long they waited.
pub(crate) async fn run_paced(
    context: &BenchContext<'_>,
    url: &StoreUrl,
    jobs: u64,
    per_second: f64,
) -> Result<Arc<Latencies>> {
    let client = context.client(url).await?;
    let waits = Arc::new(Latencies::new());
    let start = Instant::now() + LEAD;
    let mut worker = {
        let waits = Arc::clone(&waits);
        RunningWorker::start(context, url, jobs, move |context| {
            let intended = start + intended(&context.job().payload);
            waits.record(Instant::now().saturating_duration_since(intended));
        })
        .await?
    };
    let producers = shares(jobs, context.plan.producers).count();
    let paced = (0..producers as u64).map(|first| {
        let pace = Pace {
            first,
            every: producers as u64,
            jobs,
            per_second,
            start,
        };
        produce(
            client.clone(),
            pace,
            context.plan.batch,
            context.plan.payload,
        )
    });
    let producing = context.tasks.all(paced);
    tokio::try_join!(producing, worker.reached(context))?;
    worker.end().await?;
    Ok(waits)
}

/// The jobs and schedule of one producer.
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
        // Send all jobs that are due by now in one call.
        let mut jobs = Vec::new();
        while next < pace.jobs
            && jobs.len() < batch
            && pace.start + pace.offset(next) <= Instant::now()
        {
            jobs.push(NewJob::new(stamped(pace.offset(next), bytes)));
            next += pace.every;
        }
        if !jobs.is_empty() {
            enqueue(&client, jobs).await?;
        }
    }
    Ok(())
}

/// A payload that starts with its intended send time.
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
    fn a_payload_carries_its_intended_send_time() {
        let offset = Duration::from_micros(1_234_567);
        let payload = stamped(offset, 100);
        assert_eq!((payload.len(), intended(&payload)), (100, offset));
    }
}
