//! Waiting: for a job to claim, and for a job to end. Hints make it quick, polls make it certain.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use windlass_core::{
    Claim, ClaimRequest, Claimer, Hint, Job, JobId, JobState, QueueName, Result, Store, Watch,
};

/// The longest pause between two looks; each is drawn from the upper half of it.
const POLL_MAX: Duration = Duration::from_secs(1);

/// Claims jobs and, where there are none, waits for some for as long as `wait`.
///
/// A worker's claim that was answered with nothing is done; the next try is a new one, and
/// `request` carries its number afterwards.
pub async fn claim_waiting(
    store: &dyn Store,
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
        if let Claimer::Worker { seq, .. } = &mut request.claimer {
            *seq += 1;
        }
        let found = store.claim(queue, request.clone()).await?;
        if found.is_some() || deadline.is_over() {
            return Ok(found);
        }
        let next_due = store
            .stats(queue)
            .await?
            .and_then(|stats| stats.next_due_ms);
        let nap = next_due.map_or(POLL_MAX, Duration::from_millis).min(poll());
        let is_work = |hint: &Hint| matches!(hint, Hint::Work(_) | Hint::Resync);
        pause(watch.as_mut(), deadline.cut(nap), is_work).await;
    }
}

/// How a job ended, as far as can be told.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// It has ended and is kept.
    Ended(Box<Job>),
    /// It has ended and was not kept.
    EndedUnkept(JobState),
    /// It was there and is no longer: it ended well without a result, or was removed.
    Gone,
    /// There is no such job.
    NotFound,
    /// It has not ended yet.
    TimedOut(Box<Job>),
}

/// Waits until a job has ended, at most `limit` where one is given.
pub async fn wait_for_end(
    store: &dyn Store,
    queue: &QueueName,
    id: &JobId,
    limit: Option<Duration>,
) -> Result<End> {
    let deadline = Deadline::after(limit);
    let mut watch = store.watch(std::slice::from_ref(queue)).await?;
    let mut was_seen = false;
    let mut heard = None;
    loop {
        let job = match store.get(queue, id).await? {
            Some(job) if job.state.is_final() => return Ok(End::Ended(Box::new(job))),
            Some(job) => job,
            None => {
                return Ok(match heard {
                    Some(state) => End::EndedUnkept(state),
                    None if was_seen => End::Gone,
                    None => End::NotFound,
                });
            }
        };
        was_seen = true;
        if deadline.is_over() {
            return Ok(End::TimedOut(Box::new(job)));
        }
        let is_news = |hint: &Hint| match hint {
            Hint::Event(_, about, state) if about == id => {
                heard = state.is_final().then_some(*state);
                true
            }
            Hint::Resync => true,
            _ => false,
        };
        pause(watch.as_mut(), deadline.cut(poll()), is_news).await;
    }
}

/// How long until the next look when no hint comes; drawn, so that sleepers do not march in step.
fn poll() -> Duration {
    let half_us = u64::try_from(POLL_MAX.as_micros() / 2).unwrap_or(u64::MAX);
    Duration::from_micros(half_us + fastrand::u64(..=half_us))
}

/// Waits for a hint worth a look, at most for `nap`.
async fn pause(watch: &mut dyn Watch, nap: Duration, is_worth: impl FnMut(&Hint) -> bool) {
    // Elapsed is the poll.
    let _ = timeout(nap, next_worth(watch, is_worth)).await;
}

async fn next_worth(watch: &mut dyn Watch, mut is_worth: impl FnMut(&Hint) -> bool) {
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
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    fn is_over(&self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    fn cut(&self, pause: Duration) -> Duration {
        let left = self
            .0
            .map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(pause, |left| left.min(pause))
    }
}

#[cfg(test)]
mod tests;
