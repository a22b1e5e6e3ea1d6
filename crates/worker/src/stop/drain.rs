//! Stops a worker: finish what can be finished, release the rest, deregister.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use windlass_core::store::WorkerCommand;

use crate::claim::release_unstarted;
use crate::events;
use crate::run::run_queue::ClaimedAttempt;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::stop::phase::Phase;

/// How long the final calls to the store may take after the grace period.
const FINAL_CALLS_TIMEOUT: Duration = Duration::from_millis(800);

/// How long a handler that watches for cancellation has to return on an immediate stop.
const STOP_NOW_WAIT: Duration = Duration::from_millis(100);

/// Finishes a stopping worker. Claiming must have stopped before.
pub(crate) async fn drain(shared: &Arc<Shared>, started: Instant) {
    let mut unstarted = Vec::from(shared.run_queue.take_waiting());
    finish_claims(shared, started).await;
    for queue in &shared.queues {
        let is_here = |claimed: &ClaimedAttempt| claimed.queue.index == queue.index;
        let (here, elsewhere): (Vec<_>, _) = unstarted.into_iter().partition(is_here);
        release_unstarted(queue, here);
        unstarted = elsewhere;
    }
    finish(shared, started).await;
    for queue in &shared.queues {
        for attempt in queue.unfinished() {
            attempt.ask_to_stop(StopReason::Leaving);
            shared.force(queue, &attempt);
        }
    }
    // First the jobs that never started: those that did were claimed before them.
    flush_outcomes(shared, started).await;
    for queue in &shared.queues {
        queue.forced_outcomes.send_held_back();
    }
    flush_outcomes(shared, started).await;
    let _ = timeout(FINAL_CALLS_TIMEOUT, deregister(shared)).await;
}

/// Waits for the replies to outcomes in flight, which may claim jobs. These are released at once, and
/// belong behind the jobs that were claimed before.
async fn finish_claims(shared: &Shared, started: Instant) {
    let limit = FINAL_CALLS_TIMEOUT.min(remaining(started, shared.options.grace));
    wait_for(shared, limit, all_reported(shared)).await;
}

/// Waits until all outcomes are stored. Waits for an unavailable store for the rest of the grace
/// period, since jobs with unreported outcomes run again.
async fn flush_outcomes(shared: &Shared, started: Instant) {
    let limit = remaining(started, shared.options.grace);
    if wait_for(shared, limit, all_reported(shared)).await != Waited::Done {
        // A timeout is harmless: deregistering releases all jobs that are still leased.
        let _ = timeout(FINAL_CALLS_TIMEOUT, all_reported(shared)).await;
    }
}

/// Lets jobs run for the grace period; asks handlers that watch for cancellation to stop in time.
async fn finish(shared: &Arc<Shared>, started: Instant) {
    let grace = shared.options.grace;
    let ask_after = grace
        .saturating_sub(shared.options.stop_wait)
        .max(grace / 2);
    let idle = || shared.run_queue.wait_until_idle();
    announce(shared);
    let mut waited = wait_for(shared, remaining(started, ask_after), idle()).await;
    if waited == Waited::Done {
        return;
    }
    for queue in &shared.queues {
        for attempt in queue.unfinished() {
            // A handler that does not watch for cancellation keeps the full grace period.
            if waited == Waited::StoppedNow || attempt.watches_cancellation() {
                shared.ask_to_stop(queue, &attempt, StopReason::Leaving);
            }
        }
    }
    if waited == Waited::TimedOut {
        waited = wait_for(shared, remaining(started, grace), idle()).await;
    }
    if waited == Waited::StoppedNow {
        let _ = timeout(STOP_NOW_WAIT, idle()).await;
    }
}

/// Makes `windlass workers` show a worker that still runs jobs as draining: its command becomes `stop`, as
/// if an operator had sent it. Best effort, since nothing depends on it.
fn announce(shared: &Arc<Shared>) {
    if shared.run_queue.is_empty() {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let store = &shared.connections.store;
        let _ = store.command(&shared.boot(), WorkerCommand::Stop).await;
    });
}

#[derive(PartialEq, Eq)]
enum Waited {
    Done,
    TimedOut,
    /// The worker was asked to stop immediately.
    StoppedNow,
}

/// Waits for `work`, for at most `limit` and only while the worker may finish its jobs.
async fn wait_for(shared: &Shared, limit: Duration, work: impl Future<Output = ()>) -> Waited {
    tokio::select! {
        biased;
        () = work => Waited::Done,
        _ = shared.stopper.until(|phase| *phase == Phase::StoppingNow) => Waited::StoppedNow,
        () = sleep(limit) => Waited::TimedOut,
    }
}

/// The rest of `span`. Subtracts, since `started + span` may overflow.
fn remaining(started: Instant, span: Duration) -> Duration {
    span.saturating_sub(started.elapsed())
}

async fn all_reported(shared: &Shared) {
    for queue in &shared.queues {
        queue.outcomes.wait_until_empty().await;
        queue.forced_outcomes.wait_until_empty().await;
    }
}

async fn deregister(shared: &Shared) {
    let mut boots: Vec<_> = shared
        .queues
        .iter()
        .flat_map(|queue| queue.held_claims().boots())
        .collect();
    boots.push(shared.boot());
    boots.sort();
    boots.dedup();
    for boot in boots {
        if let Err(error) = shared.connections.store.leave(&boot, None).await {
            events::worker_not_deregistered(&error);
        }
    }
}
