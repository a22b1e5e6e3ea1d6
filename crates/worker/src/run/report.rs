//! The report loop of one queue: stores the outcomes of attempts and, in the same call, claims the
//! next jobs for their slots. Attempts that end while a call is in flight go into the next one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::{Completion, Failure, Jitter, JobLease, OutcomeStatus, Retry, Snooze, Store};

use crate::backoff::Backoff;
use crate::boot_time::BootTime;
use crate::claim::limit::CLAIM_TRIES;
use crate::claim::slots::Slot;
use crate::claim::{PendingClaim, abandon_claim, give_up_claim};
use crate::outcome::{Outcome, RetryWhen};
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::run::outcome_queue::{EndedAttempt, OutcomeQueue};
use crate::shared::Shared;
use crate::stop::phase::Phase;

/// How many of these loops a queue has: under load, one call is in flight while the jobs from the
/// reply to the other are started.
pub(crate) const LOOPS: usize = 2;

/// Reports the outcomes of handlers that returned, until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, queue: Arc<QueueState>) {
    loop {
        let batch = queue.outcomes.take_batch().await;
        let count = batch.len();
        report(&shared, &queue, queue.store(), batch, true).await;
        queue.outcomes.batch_done(count);
    }
}

/// Reports the attempts that the lease thread ended, on its thread and connection.
pub(crate) async fn run_forced(shared: Arc<Shared>, queue: Arc<QueueState>, store: Arc<dyn Store>) {
    let outcomes: &OutcomeQueue = &queue.forced_outcomes;
    loop {
        let batch = outcomes.take_batch().await;
        let count = batch.len();
        report(&shared, &queue, store.as_ref(), batch, false).await;
        outcomes.batch_done(count);
    }
}

/// A batch of outcomes, grouped by store call.
#[derive(Default)]
struct OutcomeBatch {
    completions: (Vec<Completion>, Vec<Arc<Attempt>>),
    failures: (Vec<Failure>, Vec<Arc<Attempt>>),
    releases: (Vec<JobLease>, Vec<Arc<Attempt>>),
    snoozes: (Vec<Snooze>, Vec<Arc<Attempt>>),
    slot: Option<Slot>,
}

impl OutcomeBatch {
    fn new(ended: Vec<EndedAttempt>) -> Self {
        let mut batch = Self::default();
        for EndedAttempt {
            attempt,
            outcome,
            slot,
        } in ended
        {
            match (&mut batch.slot, slot) {
                (Some(all), Some(slot)) => all.join(slot),
                (all @ None, slot) => *all = slot,
                (Some(_), None) => {}
            }
            let lease = attempt.lease();
            match outcome {
                Outcome::Done(result) => {
                    batch.completions.0.push(Completion { lease, result });
                    batch.completions.1.push(attempt);
                }
                Outcome::Failed { error, retry } => {
                    batch
                        .failures
                        .0
                        .push(lease.failure(error).retry(store_retry(retry)));
                    batch.failures.1.push(attempt);
                }
                Outcome::Release => {
                    batch.releases.0.push(lease);
                    batch.releases.1.push(attempt);
                }
                Outcome::Snooze(due) => {
                    batch.snoozes.0.push(lease.snooze(due));
                    batch.snoozes.1.push(attempt);
                }
            }
        }
        batch
    }
}

fn store_retry(retry: RetryWhen) -> Retry {
    match retry {
        RetryWhen::ByPolicy => Retry::ByPolicy(Jitter::random()),
        RetryWhen::At(due) => Retry::At(due),
        RetryWhen::Never => Retry::Permanent,
    }
}

async fn report(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    store: &dyn Store,
    ended: Vec<EndedAttempt>,
    may_claim: bool,
) {
    let mut batch = OutcomeBatch::new(ended);
    let name = queue.name();
    let slot = batch.slot.take();
    let next = if may_claim && !batch.completions.0.is_empty() {
        NextClaim::start(shared, queue, slot)
    } else {
        None
    };
    let OutcomeBatch {
        completions,
        failures,
        releases,
        snoozes,
        ..
    } = batch;
    tokio::join!(
        complete(shared, queue, store, completions, next),
        send_until_answered(shared, queue, failures, |items| store.fail(name, items)),
        send_until_answered(shared, queue, releases, |items| store.release(name, items)),
        send_until_answered(shared, queue, snoozes, |items| store.snooze(name, items)),
    );
}

/// The claim that is sent along with a completion.
struct NextClaim {
    pending: PendingClaim,
    slot: Slot,
}

impl NextClaim {
    /// Claims for the freed slots, unless a blocking claim is in flight or other queues come first.
    fn start(shared: &Arc<Shared>, queue: &QueueState, slot: Option<Slot>) -> Option<Self> {
        let slot = slot?;
        if queue.held_claims().is_blocking() || shared.stopper.phase() != Phase::Working {
            return None;
        }
        let slot = shared.slots.exchange(queue.index, slot);
        if slot.count() == 0 {
            return None;
        }
        let pending = shared.start_claim_unless_blocking(queue, slot.count())?;
        Some(Self { pending, slot })
    }
}

async fn complete(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    store: &dyn Store,
    (completions, attempts): (Vec<Completion>, Vec<Arc<Attempt>>),
    next: Option<NextClaim>,
) {
    if completions.is_empty() {
        return;
    }
    let mut sent = BootTime::now();
    let mut calls = 0;
    let request = next.as_ref().map(|next| next.pending.request.clone());
    let completed = repeat(shared, queue, &attempts, || {
        sent = BootTime::now();
        calls += 1;
        // The reply to the claim may be what does not arrive.
        let request = request.clone().filter(|_| calls <= CLAIM_TRIES);
        store.complete(queue.name(), completions.clone(), request)
    })
    .await;
    match (completed, next) {
        (Some(completed), next) => {
            record(shared, queue, &attempts, Some(completed.statuses));
            if let Some(next) = next {
                if calls > CLAIM_TRIES {
                    give_up_claim(queue, &next.pending);
                } else if completed.next.is_none() && calls > 1 {
                    abandon_claim(queue, &next.pending);
                }
                shared.claim_answered(queue, &next.pending, completed.next, sent, next.slot);
            }
        }
        (None, next) => {
            record(shared, queue, &attempts, None);
            if let Some(next) = next {
                abandon_claim(queue, &next.pending);
            }
        }
    }
}

/// Repeats the call until it is answered or the leases expire locally, then records the result.
async fn send_until_answered<T, F, C>(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    (items, attempts): (Vec<T>, Vec<Arc<Attempt>>),
    call: C,
) where
    T: Clone,
    F: Future<Output = windlass_core::Result<Vec<OutcomeStatus>>>,
    C: Fn(Vec<T>) -> F,
{
    if items.is_empty() {
        return;
    }
    let statuses = repeat(shared, queue, &attempts, || call(items.clone())).await;
    record(shared, queue, &attempts, statuses);
}

/// Repeats a call after transient errors. Returns `None` after a permanent error, or when all leases
/// have expired locally.
async fn repeat<T, F>(
    shared: &Shared,
    queue: &QueueState,
    attempts: &[Arc<Attempt>],
    mut call: impl FnMut() -> F,
) -> Option<T>
where
    F: Future<Output = windlass_core::Result<T>>,
{
    let mut backoff = Backoff::default();
    loop {
        let error = match call().await {
            Ok(reply) => return Some(reply),
            Err(error) => error,
        };
        if backoff.is_first() {
            tracing::warn!(target: "windlass", queue = %queue.name(), code = error.code(),
                help = error.help(), jobs = attempts.len(), "cannot store outcomes: {error}");
        }
        if !error.is_transient() {
            return None;
        }
        let now = BootTime::now();
        if attempts.iter().all(|attempt| attempt.expiry.time() <= now) {
            return None;
        }
        let is_now = shared.stopper.phase() == Phase::StoppingNow;
        let pause = backoff.next();
        if is_now && backoff.is_exhausted() {
            return None;
        }
        tokio::time::sleep(pause).await;
    }
}

fn record(
    shared: &Shared,
    queue: &QueueState,
    attempts: &[Arc<Attempt>],
    statuses: Option<Vec<OutcomeStatus>>,
) {
    match statuses {
        Some(_) => queue.held_claims().forget(attempts),
        None => queue.held_claims().orphan(attempts),
    }
    if attempts
        .iter()
        .any(|attempt| attempt.job.expiries >= SUSPECT_AFTER)
    {
        queue.claim_again.notify_one();
    }
    let Some(statuses) = statuses else {
        let lost = attempts.len() as u64;
        shared.counters.lost.fetch_add(lost, Ordering::Relaxed);
        queue.metrics.count_outcomes(OutcomeStatus::LeaseLost, lost);
        return;
    };
    let mut completed = 0;
    for (attempt, status) in attempts.iter().zip(statuses) {
        let counter: &AtomicU64 = match status {
            OutcomeStatus::Completed => {
                completed += 1;
                continue;
            }
            OutcomeStatus::Retrying => &shared.counters.failed,
            OutcomeStatus::Dead => &shared.counters.dead,
            OutcomeStatus::Released => &shared.counters.released,
            OutcomeStatus::Snoozed => &shared.counters.snoozed,
            OutcomeStatus::Cancelled => &shared.counters.cancelled,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => {
                tracing::warn!(target: "windlass", queue = %queue.name(), id = %attempt.job.id,
                    token = %attempt.token, "{status}: the outcome arrived too late and was ignored");
                &shared.counters.lost
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
        queue.metrics.count_outcomes(status, 1);
    }
    shared
        .counters
        .succeeded
        .fetch_add(completed, Ordering::Relaxed);
    queue
        .metrics
        .count_outcomes(OutcomeStatus::Completed, completed);
}
