//! The report loop of one queue: stores the outcomes of attempts and, in the same call, claims the
//! next jobs for their slots. Attempts that end while a call is in flight go into the next one.

use std::future::Future;
use std::sync::Arc;

use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::store::{Completion, Failure, Jitter, Retry};
use windlass_core::{OutcomeStatus, Store};

use crate::backoff::Backoff;
use crate::boot_time::BootTime;
use crate::claim::limit::CLAIM_TRIES;
use crate::claim::slots::Slot;
use crate::claim::{PendingClaim, abandon_claim, give_up_claim};
use crate::events;
use crate::outage::StoreCaller;
use crate::outcome::{Outcome, RetryWhen};
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::run::outcome_queue::EndedAttempt;
use crate::shared::Shared;
use crate::stop::phase::Phase;

/// How many of these loops a queue has: under load, one call is in flight while the jobs from the
/// reply to the other are started.
pub(crate) const LOOPS: usize = 2;

/// Reports outcomes until it is dropped: of handlers that returned or, with the store of the lease thread, of
/// attempts that this thread ended.
pub(crate) async fn run(
    shared: Arc<Shared>,
    queue: Arc<QueueState>,
    lease_store: Option<Arc<dyn Store>>,
) {
    let (outcomes, store) = match &lease_store {
        None => (&queue.outcomes, queue.store()),
        Some(store) => (&queue.forced_outcomes, store.as_ref()),
    };
    loop {
        let batch = outcomes.take_batch().await;
        report(&shared, &queue, store, batch, lease_store.is_none()).await;
        outcomes.batch_done();
    }
}

/// Attempts whose outcomes go into one store call.
struct Group<T> {
    items: Vec<T>,
    attempts: Vec<Arc<Attempt>>,
}

impl<T> Group<T> {
    fn new() -> Self {
        Self {
            items: Vec::new(),
            attempts: Vec::new(),
        }
    }

    fn push(&mut self, item: T, attempt: Arc<Attempt>) {
        self.items.push(item);
        self.attempts.push(attempt);
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
    let mut completions = Group::new();
    let mut failures = Group::new();
    let mut releases = Group::new();
    let mut snoozes = Group::new();
    let mut slots: Option<Slot> = None;
    for EndedAttempt {
        attempt,
        outcome,
        slot,
    } in ended
    {
        match (&mut slots, slot) {
            (Some(all), Some(slot)) => all.join(slot),
            (all @ None, slot) => *all = slot,
            (Some(_), None) => {}
        }
        let lease = attempt.lease();
        match outcome {
            Outcome::Done(result) => completions.push(Completion { lease, result }, attempt),
            Outcome::Failed { error, retry } => {
                failures.push(lease.failure(error).retry(store_retry(retry)), attempt);
            }
            Outcome::Release => releases.push(lease, attempt),
            Outcome::Snooze { due, scope } => {
                snoozes.push(lease.snooze(due).scope(scope), attempt);
            }
        }
    }
    let name = queue.name();
    // Slots that are not claimed for are freed when the outcomes are stored: until then their jobs are held.
    let next = if may_claim && !completions.items.is_empty() {
        let slots = slots.take();
        slots.and_then(|slots| NextClaim::start(shared, queue, slots))
    } else {
        None
    };
    tokio::join!(
        complete(shared, queue, store, completions, next),
        fail(shared, queue, store, failures),
        send_until_answered(shared, queue, &releases, |items| store.release(name, items)),
        send_until_answered(shared, queue, &snoozes, |items| store.snooze(name, items)),
    );
    drop(slots);
}

/// The claim that is sent along with a completion.
struct NextClaim {
    pending: PendingClaim,
    slot: Slot,
}

impl NextClaim {
    /// Claims for the freed slots, unless a blocking claim is in flight or other queues come first.
    fn start(shared: &Arc<Shared>, queue: &QueueState, slot: Slot) -> Option<Self> {
        if queue.held_claims().is_blocking || shared.stopper.phase() != Phase::Working {
            return None;
        }
        let slot = shared.slots.exchange(queue.index, slot);
        if slot.count() == 0 {
            return None;
        }
        let next = queue.held_claims().next_claim_unless_blocking()?;
        let pending = shared.start_claim(queue, next, slot.count());
        Some(Self { pending, slot })
    }
}

async fn complete(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    store: &dyn Store,
    Group { items, attempts }: Group<Completion>,
    next: Option<NextClaim>,
) {
    if items.is_empty() {
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
        store.complete(queue.name(), items.clone(), request)
    })
    .await;
    let (statuses, claimed) = completed
        .map(|completed| (completed.statuses, completed.next))
        .unzip();
    record(shared, queue, &attempts, statuses);
    let Some(NextClaim { pending, mut slot }) = next else {
        return;
    };
    let Some(claim) = claimed else {
        abandon_claim(queue, &pending);
        return;
    };
    if calls > CLAIM_TRIES {
        give_up_claim(queue, &pending);
    } else if claim.is_none() && calls > 1 {
        abandon_claim(queue, &pending);
    }
    shared.claim_answered(queue, &pending, claim, sent, &mut slot);
}

async fn fail(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    store: &dyn Store,
    group: Group<Failure>,
) {
    let call = |items| store.fail(queue.name(), items);
    let statuses = send_until_answered(shared, queue, &group, call).await;
    let failed = group.attempts.iter().zip(&group.items);
    for ((attempt, failure), status) in failed.zip(statuses) {
        events::attempt_failed(queue, &attempt.job, failure, status);
    }
}

/// Repeats the call until it is answered or the leases expire locally, then records the result and
/// returns it.
async fn send_until_answered<T, F, C>(
    shared: &Arc<Shared>,
    queue: &Arc<QueueState>,
    Group { items, attempts }: &Group<T>,
    call: C,
) -> Vec<OutcomeStatus>
where
    T: Clone,
    F: Future<Output = windlass_core::Result<Vec<OutcomeStatus>>>,
    C: Fn(Vec<T>) -> F,
{
    if items.is_empty() {
        return Vec::new();
    }
    let statuses = repeat(shared, queue, attempts, || call(items.clone())).await;
    record(shared, queue, attempts, statuses.clone());
    statuses.unwrap_or_default()
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
    let mut caller = None;
    loop {
        let error = match call().await {
            Ok(reply) => {
                if let Some(caller) = &mut caller {
                    StoreCaller::succeeded(caller);
                }
                return Some(reply);
            }
            Err(error) => error,
        };
        if !error.is_transient() {
            events::outcomes_rejected(queue, attempts.len(), &error);
            return None;
        }
        let caller = caller.get_or_insert_with(|| shared.connections.outage().caller());
        caller.failed(&error);
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
    queue.held_claims().remove(attempts, statuses.is_some());
    if attempts
        .iter()
        .any(|attempt| attempt.job.expiries >= SUSPECT_AFTER)
    {
        queue.claim_again.notify_one();
    }
    let Some(statuses) = statuses else {
        let lost = |attempt| (attempt, OutcomeStatus::LeaseLost);
        return shared.count(attempts.iter().map(lost));
    };
    for (attempt, status) in attempts.iter().zip(&statuses) {
        events::attempt_ended(queue, attempt, *status);
    }
    shared.count(attempts.iter().zip(statuses));
}
