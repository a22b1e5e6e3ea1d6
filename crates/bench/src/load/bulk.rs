//! Enqueues batches from several concurrent producers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass::{Client, NewJob, Result};

use super::{enqueue, shares};
use crate::context::BenchContext;

/// Enqueues jobs created by `job` from their number. Returns how long it took.
pub(crate) async fn enqueue_bulk<F>(
    context: &BenchContext<'_>,
    client: &Client,
    jobs: u64,
    job: F,
) -> Result<Duration>
where
    F: Fn(u64) -> NewJob + Clone + Send + Sync + 'static,
{
    let batch = context.plan.batch as u64;
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let mut next = 0;
    let producers = shares(jobs, context.plan.producers).map(|share| {
        let numbers = next..next + share;
        next += share;
        let (client, job, done) = (client.clone(), job.clone(), Arc::clone(&done));
        async move {
            let mut from = numbers.start;
            while from < numbers.end {
                let to = numbers.end.min(from + batch);
                let jobs = (from..to).map(&job).collect();
                enqueue(&client, jobs).await?;
                done.fetch_add(to - from, Ordering::Relaxed);
                from = to;
            }
            Ok(())
        }
    });
    context.follow(&done, context.tasks.all(producers)).await?;
    Ok(began.elapsed())
}
