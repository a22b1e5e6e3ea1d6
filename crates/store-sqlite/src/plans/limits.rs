//! Runs the statements of a queue with limits.

use std::time::Duration;

use windlass_core::{ClaimRequest, ManualClock, NewJob, QueueName, Result, Store};

use super::job_lease;
use crate::SqliteStore;

/// Fills a queue with limits, and claims in it while it is full, closed and open.
pub(super) async fn run(store: &SqliteStore, clock: &ManualClock) -> Result<()> {
    let q = QueueName::new("limited")?;
    let settings = ["max_running=2", "rate=2/1m", "burst=2"];
    let settings = settings.map(|setting| setting.parse().unwrap());
    store.set(&q, settings.to_vec()).await?;
    let jobs = (0..9).map(|_| NewJob::new("x")).collect();
    store.enqueue(&q, jobs).await?;
    let claim = store.claim(&q, ClaimRequest::single(5)).await?;
    let claim = claim.expect("two jobs may start");
    let done = vec![job_lease(&claim, 0).completion()];
    let next = Some(ClaimRequest::single(5));
    assert!(store.complete(&q, done, next).await?.next.is_none());
    store.stats(&q).await?;
    clock.step_back(Duration::from_secs(10));
    store.claim(&q, ClaimRequest::single(5)).await?;
    clock.advance(Duration::from_secs(120));
    assert!(store.claim(&q, ClaimRequest::single(5)).await?.is_some());
    Ok(())
}
