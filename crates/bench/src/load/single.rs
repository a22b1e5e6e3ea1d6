//! One job per call, by many tasks at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass::{Client, Result};

use super::{QUEUE, payload, shares};
use crate::stage::Stage;

/// Tasks that enqueue at once.
pub(crate) const SINGLE_CALLERS: usize = 100;

/// Enqueues so many jobs, each by a call of its own; answers how long it took.
pub(crate) async fn enqueue_singly(
    stage: &Stage<'_>,
    client: &Client,
    jobs: u64,
) -> Result<Duration> {
    let done = Arc::new(AtomicU64::new(0));
    let payload = payload(stage.plan.payload);
    let began = Instant::now();
    let callers = shares(jobs, SINGLE_CALLERS).map(|share| {
        let (client, payload, done) = (client.clone(), payload.clone(), Arc::clone(&done));
        async move {
            for _ in 0..share {
                client.enqueue_raw(QUEUE, payload.clone()).await?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    stage.follow(&done, stage.tasks.all(callers)).await?;
    Ok(began.elapsed())
}
