//! The settle loop of one queue: writes down how attempts ended and, in the same call, claims the
//! next jobs into their slots. What ends while a call is under way goes with the next.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::{Completion, Failure, Jitter, JobLease, OutcomeStatus, Retry, Snooze, Store};

use crate::backoff::Backoff;
use crate::boottime::BootTime;
use crate::claims::{Asked, give_up};
use crate::lane::Lane;
use crate::outbox::{Ended, Outbox};
use crate::outcome::{Again, Outcome};
use crate::phase::Phase;
use crate::run::Run;
use crate::shared::Shared;
use crate::slots::Slot;

/// How many of these loops a queue has: under load the store is busy with the call of one while the
/// answer to the other's is put to work.
pub(crate) const LOOPS: usize = 2;

/// Settles what handlers say, beside them, until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, lane: Arc<Lane>) {
    loop {
        let batch = lane.outbox.take().await;
        let count = batch.len();
        settle(&shared, &lane, lane.store(), batch, true).await;
        lane.outbox.answered(count);
    }
}

/// Settles what the keeper ended, on its own thread and connection.
pub(crate) async fn run_late(shared: Arc<Shared>, lane: Arc<Lane>, store: Arc<dyn Store>) {
    let outbox: &Outbox = &lane.late;
    loop {
        let batch = outbox.take().await;
        let count = batch.len();
        settle(&shared, &lane, store.as_ref(), batch, false).await;
        outbox.answered(count);
    }
}

/// A batch, sorted by what is to be said.
#[derive(Default)]
struct Sorted {
    completions: (Vec<Completion>, Vec<Arc<Run>>),
    failures: (Vec<Failure>, Vec<Arc<Run>>),
    releases: (Vec<JobLease>, Vec<Arc<Run>>),
    snoozes: (Vec<Snooze>, Vec<Arc<Run>>),
    slot: Option<Slot>,
}

impl Sorted {
    fn new(batch: Vec<Ended>) -> Self {
        let mut sorted = Self::default();
        for Ended { run, outcome, slot } in batch {
            match (&mut sorted.slot, slot) {
                (Some(all), Some(slot)) => all.join(slot),
                (all @ None, slot) => *all = slot,
                (Some(_), None) => {}
            }
            let hold = run.hold();
            match outcome {
                Outcome::Done(result) => {
                    sorted.completions.0.push(Completion {
                        lease: hold,
                        result,
                    });
                    sorted.completions.1.push(run);
                }
                Outcome::Failed { error, again } => {
                    sorted
                        .failures
                        .0
                        .push(hold.failure(error).retry(retry(again)));
                    sorted.failures.1.push(run);
                }
                Outcome::Release => {
                    sorted.releases.0.push(hold);
                    sorted.releases.1.push(run);
                }
                Outcome::Snooze(due) => {
                    sorted.snoozes.0.push(hold.snooze(due));
                    sorted.snoozes.1.push(run);
                }
            }
        }
        sorted
    }
}

fn retry(again: Again) -> Retry {
    match again {
        Again::ByPolicy => Retry::ByPolicy(Jitter::random()),
        Again::At(due) => Retry::At(due),
        Again::Never => Retry::Permanent,
    }
}

async fn settle(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    store: &dyn Store,
    batch: Vec<Ended>,
    may_claim: bool,
) {
    let mut sorted = Sorted::new(batch);
    let queue = lane.queue();
    let slot = sorted.slot.take();
    let next = if may_claim && !sorted.completions.0.is_empty() {
        Next::take(shared, lane, slot)
    } else {
        None
    };
    let Sorted {
        completions,
        failures,
        releases,
        snoozes,
        ..
    } = sorted;
    tokio::join!(
        complete(shared, lane, store, completions, next),
        insist(shared, lane, failures, |items| store.fail(queue, items)),
        insist(shared, lane, releases, |items| store.release(queue, items)),
        insist(shared, lane, snoozes, |items| store.snooze(queue, items)),
    );
}

/// The claim that goes with a completion.
struct Next {
    asked: Asked,
    slot: Slot,
}

impl Next {
    /// Claims into the slots that came free, unless a claim waits already or others come first.
    fn take(shared: &Arc<Shared>, lane: &Lane, slot: Option<Slot>) -> Option<Self> {
        let slot = slot?;
        if lane.holdings().is_parked() || shared.stopper.phase() != Phase::Working {
            return None;
        }
        let slot = shared.slots.exchange(lane.index, slot);
        if slot.count() == 0 {
            return None;
        }
        let asked = shared.ask_beside(lane, slot.count())?;
        Some(Self { asked, slot })
    }
}

async fn complete(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    store: &dyn Store,
    (completions, runs): (Vec<Completion>, Vec<Arc<Run>>),
    next: Option<Next>,
) {
    if completions.is_empty() {
        return;
    }
    let mut sent = BootTime::now();
    let mut calls = 0;
    let request = next.as_ref().map(|next| next.asked.request.clone());
    let completed = repeat(shared, lane, &runs, || {
        sent = BootTime::now();
        calls += 1;
        store.complete(lane.queue(), completions.clone(), request.clone())
    })
    .await;
    match (completed, next) {
        (Some(completed), next) => {
            account(shared, lane, &runs, Some(completed.statuses));
            if let Some(next) = next {
                if completed.next.is_none() && calls > 1 {
                    give_up(lane, &next.asked);
                }
                shared.heard(lane, &next.asked, completed.next, sent, next.slot);
            }
        }
        (None, next) => {
            account(shared, lane, &runs, None);
            if let Some(next) = next {
                give_up(lane, &next.asked);
            }
        }
    }
}

/// Says the same again until it is answered, or the lease cannot be trusted any more.
async fn insist<T, F, C>(
    shared: &Arc<Shared>,
    lane: &Arc<Lane>,
    (items, runs): (Vec<T>, Vec<Arc<Run>>),
    call: C,
) where
    T: Clone,
    F: Future<Output = windlass_core::Result<Vec<OutcomeStatus>>>,
    C: Fn(Vec<T>) -> F,
{
    if items.is_empty() {
        return;
    }
    let settled = repeat(shared, lane, &runs, || call(items.clone())).await;
    account(shared, lane, &runs, settled);
}

/// Repeats a call that failed for now; nothing when it failed for good or the jobs were lost.
async fn repeat<T, F>(
    shared: &Shared,
    lane: &Lane,
    runs: &[Arc<Run>],
    mut call: impl FnMut() -> F,
) -> Option<T>
where
    F: Future<Output = windlass_core::Result<T>>,
{
    let mut backoff = Backoff::default();
    loop {
        let error = match call().await {
            Ok(answer) => return Some(answer),
            Err(error) => error,
        };
        if backoff.is_fresh() {
            tracing::warn!(target: "windlass", queue = %lane.queue(), code = error.code(),
                help = error.help(), jobs = runs.len(), "outcomes are not stored yet: {error}");
        }
        if !error.is_transient() {
            return None;
        }
        let now = BootTime::now();
        if runs.iter().all(|run| run.fence.time() <= now) {
            return None;
        }
        let is_now = shared.stopper.phase() == Phase::StoppingNow;
        let pause = backoff.next();
        if is_now && backoff.is_spent() {
            return None;
        }
        tokio::time::sleep(pause).await;
    }
}

fn account(shared: &Shared, lane: &Lane, runs: &[Arc<Run>], settled: Option<Vec<OutcomeStatus>>) {
    match settled {
        Some(_) => lane.holdings().forget(runs),
        None => lane.holdings().drop_untold(runs),
    }
    if runs.iter().any(|run| run.job.expiries >= SUSPECT_AFTER) {
        lane.look.notify_one();
    }
    let Some(settled) = settled else {
        let lost = runs.len() as u64;
        shared.tally.lost.fetch_add(lost, Ordering::Relaxed);
        lane.figures.settled(OutcomeStatus::LeaseLost, lost);
        return;
    };
    let mut completed = 0;
    for (run, how) in runs.iter().zip(settled) {
        let figure: &AtomicU64 = match how {
            OutcomeStatus::Completed => {
                completed += 1;
                continue;
            }
            OutcomeStatus::Retrying => &shared.tally.failed,
            OutcomeStatus::Dead => &shared.tally.dead,
            OutcomeStatus::Released => &shared.tally.released,
            OutcomeStatus::Snoozed => &shared.tally.snoozed,
            OutcomeStatus::Cancelled => &shared.tally.cancelled,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => {
                tracing::warn!(target: "windlass", queue = %lane.queue(), id = %run.job.id,
                    token = %run.token, "{how}: the outcome came too late and changed nothing");
                &shared.tally.lost
            }
        };
        figure.fetch_add(1, Ordering::Relaxed);
        lane.figures.settled(how, 1);
    }
    shared
        .tally
        .succeeded
        .fetch_add(completed, Ordering::Relaxed);
    lane.figures.settled(OutcomeStatus::Completed, completed);
}
