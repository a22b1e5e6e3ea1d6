//! Waiting for something to happen in a store: hints make it quick, polls make it certain.

mod end;

use std::time::Duration;

pub use end::{JobEnd, wait_for_end};
use tokio::time::{Instant, sleep, timeout};

use crate::claim::{Claim, ClaimRequest, Claimer};
use crate::error::Result;
use crate::name::QueueName;
use crate::notification::{Notification, Watch};
use crate::store::Store;

/// The longest pause between two looks; each is drawn from the upper half of it. A little under a
/// second, so that what a look finds is under way within one.
pub const POLL_MAX: Duration = Duration::from_millis(900);

/// Claims jobs and, where there are none, waits for some for as long as `wait`: the way of a store
/// that has hints and no quicker way. See [`Store::claim_waiting`].
pub async fn claim<S: Store + ?Sized>(
    store: &S,
    queue: &QueueName,
    request: &mut ClaimRequest,
    wait: Duration,
) -> Result<Option<Claim>> {
    let found = store.claim(queue, request.clone()).await?;
    if found.is_some() || wait.is_zero() {
        return Ok(found);
    }
    let deadline = Deadline::after(Some(wait));
    let mut watch = store.watch(std::slice::from_ref(queue)).await?;
    loop {
        // Looking again after the watch began: what came in between gave no hint.
        request.claimer.advance();
        let found = store.claim(queue, request.clone()).await?;
        if found.is_some() || deadline.is_over() {
            return Ok(found);
        }
        let next_due = store
            .stats(queue)
            .await?
            .and_then(|stats| stats.next_due_ms);
        let nap = next_due.map_or(POLL_MAX, Duration::from_millis).min(poll());
        let is_work =
            |hint: &Notification| matches!(hint, Notification::Work(_) | Notification::Resync);
        pause(watch.as_mut(), deadline.cut(nap), is_work).await;
    }
}

impl Claimer {
    /// The next claim of the same claimer: a worker's has the next number.
    pub fn advance(&mut self) {
        if let Self::Worker { seq, .. } = self {
            *seq += 1;
        }
    }
}

/// How long until the next look when no hint comes; drawn, so that sleepers do not march in step.
pub fn poll() -> Duration {
    let half_us = u64::try_from(POLL_MAX.as_micros() / 2).unwrap_or(u64::MAX);
    Duration::from_micros(half_us + fastrand::u64(..=half_us))
}

/// Waits for a hint worth a look, at most for `nap`.
pub async fn pause(
    watch: &mut dyn Watch,
    nap: Duration,
    is_worth: impl FnMut(&Notification) -> bool,
) {
    // Elapsed is the poll.
    let _ = timeout(nap, next_worth(watch, is_worth)).await;
}

async fn next_worth(watch: &mut dyn Watch, mut is_worth: impl FnMut(&Notification) -> bool) {
    loop {
        match watch.next().await {
            Some(hint) if is_worth(&hint) => return,
            Some(_) => {}
            // No hints will ever come: only the polls are left.
            None => sleep(POLL_MAX).await,
        }
    }
}

/// The end of somebody's patience; a wait too long for the clock has none.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// `limit` from now; none at all where there is no limit.
    pub fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// Whether it has come.
    pub fn is_over(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    /// As much of a pause as is left before it.
    pub fn cut(&self, pause: Duration) -> Duration {
        let left = self
            .0
            .map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(pause, |left| left.min(pause))
    }
}
