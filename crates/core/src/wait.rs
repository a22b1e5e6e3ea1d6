//! Waits for jobs and outcomes. Notifications make it fast; polling makes it reliable.

mod end;

use std::time::Duration;

pub use end::{JobEnd, wait_for_end};
use tokio::time::{Instant, sleep, timeout};

use crate::claim::{Claim, ClaimRequest, Claimer};
use crate::error::Result;
use crate::name::QueueName;
use crate::notification::{Notification, Watch};
use crate::store::Store;

/// The longest interval between two polls. Slightly less than a second, so that a waiting claim
/// finds a job within one second even if the notification is lost.
pub const POLL_MAX: Duration = Duration::from_millis(900);

/// Claims jobs, waiting up to `wait`, with notifications and polling. This is the default
/// implementation of [`Store::claim_waiting`].
pub async fn claim<S: Store + ?Sized>(
    store: &S,
    queue: &QueueName,
    request: &mut ClaimRequest,
    wait: Duration,
) -> Result<Option<Claim>> {
    let claimed = store.claim(queue, request.clone()).await?;
    if claimed.is_some() || wait.is_zero() {
        return Ok(claimed);
    }
    let watch = store.watch(std::slice::from_ref(queue)).await?;
    // Jobs enqueued before the subscription sent no notification, so claim again.
    request.claimer.advance();
    claim_watching(store, queue, request, wait, watch).await
}

/// Claims jobs like [`claim`], with a watch that began before: for stores where it costs less than a claim.
pub async fn claim_watching<S: Store + ?Sized>(
    store: &S,
    queue: &QueueName,
    request: &mut ClaimRequest,
    wait: Duration,
    mut watch: Box<dyn Watch>,
) -> Result<Option<Claim>> {
    let deadline = Deadline::after(Some(wait));
    loop {
        let claimed = store.claim(queue, request.clone()).await?;
        if claimed.is_some() || deadline.is_over() {
            return Ok(claimed);
        }
        let next_due = store
            .stats(queue)
            .await?
            .and_then(|stats| stats.next_due_ms);
        let interval = next_due
            .map_or(POLL_MAX, Duration::from_millis)
            .min(poll_interval());
        let is_work = |notification: &Notification| {
            matches!(notification, Notification::Work(_) | Notification::Resync)
        };
        wait_for_notification(watch.as_mut(), deadline.clamp(interval), is_work).await;
        request.claimer.advance();
    }
}

impl Claimer {
    /// Moves on to the next claim: increments the sequence number of a worker.
    pub fn advance(&mut self) {
        if let Self::Worker { seq, .. } = self {
            *seq += 1;
        }
    }
}

/// Returns a random interval between half of [`POLL_MAX`] and [`POLL_MAX`], so that waiting
/// processes do not poll at the same time.
pub fn poll_interval() -> Duration {
    let half_us = u64::try_from(POLL_MAX.as_micros() / 2).unwrap_or(u64::MAX);
    Duration::from_micros(half_us + fastrand::u64(..=half_us))
}

/// Waits for a notification that `is_relevant` accepts, at most for `limit`.
pub async fn wait_for_notification(
    watch: &mut dyn Watch,
    limit: Duration,
    is_relevant: impl FnMut(&Notification) -> bool,
) {
    // After the timeout, the caller polls.
    let _ = timeout(limit, next_relevant(watch, is_relevant)).await;
}

async fn next_relevant(watch: &mut dyn Watch, mut is_relevant: impl FnMut(&Notification) -> bool) {
    loop {
        match watch.next().await {
            Some(notification) if is_relevant(&notification) => return,
            Some(_) => {}
            // The stream has ended; only polling is left.
            None => sleep(POLL_MAX).await,
        }
    }
}

/// The end of a wait. A wait without limit, or too long for the clock, never ends.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Creates a deadline `limit` from now. `None` means no deadline.
    pub fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Returns whether the deadline has passed.
    pub fn is_over(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    /// Returns `duration`, or the time left until the deadline if that is shorter.
    pub fn clamp(&self, duration: Duration) -> Duration {
        let left = self
            .0
            .map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(duration, |left| left.min(duration))
    }
}
