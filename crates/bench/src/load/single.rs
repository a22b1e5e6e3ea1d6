//! Enqueues one job per call, from one or many concurrent tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass::{Client, Result};

use super::{QUEUE, payload, shares};
use crate::context::BenchContext;

/// Concurrent tasks.
pub(crate) const SINGLE_CALLERS: usize = 100;

/// Enqueues each job in a separate call. Returns how long it took.
pub(crate) async fn enqueue_singly(
    context: &BenchContext<'_>,
    client: &Client,
    jobs: u64,
    callers: usize,
) -> Result<Duration> {
    let done = Arc::new(AtomicU64::new(0));
    let payload = payload(context.plan.payload);
    let began = Instant::now();
    let callers = shares(jobs, callers).map(|share| {
        let (client, payload, done) = (client.clone(), payload.clone(), Arc::clone(&done));
        async move {
            for _ in 0..share {
                client.enqueue_raw(QUEUE, payload.clone()).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    context.follow(&done, context.tasks.all(callers)).await?;
    Ok(began.elapsed())
}
