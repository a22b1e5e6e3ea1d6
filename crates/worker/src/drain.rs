//! The end of a worker: finish what can be finished, give back the rest, leave.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::claims::give_back;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::stop::StopReason;

/// How long the last words to the store may take once the grace is over.
const LAST_WORDS: Duration = Duration::from_millis(800);

/// How long a handler that listens has to stop when everything is given back now.
const NOW: Duration = Duration::from_millis(100);

/// Brings a stopping worker to its end. Nothing is claimed any more when this is called.
pub(crate) async fn drain(shared: &Arc<Shared>, begun: Instant) {
    for claimed in shared.bench.clear() {
        give_back(&claimed.lane, claimed.run, Some(claimed.slot));
    }
    finish(shared, begun).await;
    for lane in &shared.lanes {
        for run in lane.open() {
            shared.force(lane, &run);
        }
    }
    say_last_words(shared, begun).await;
    let _ = timeout(LAST_WORDS, leave(shared)).await;
}

/// Waits until the store has heard how everything ended. A store that stands still for a moment is
/// waited for as long as the grace lasts: what it has not heard of is done once more.
async fn say_last_words(shared: &Shared, begun: Instant) {
    tokio::select! {
        told = timeout(left(begun, shared.options.grace), answered(shared)) => {
            if told.is_ok() {
                return;
            }
        }
        _ = shared.stopper.until(|phase| *phase == Phase::StoppingNow) => {}
    }
    // Not answered in time is no harm: leaving gives back whatever is still held.
    let _ = timeout(LAST_WORDS, answered(shared)).await;
}

/// Lets jobs run for the grace; asks those that listen to stop in time.
async fn finish(shared: &Arc<Shared>, begun: Instant) {
    let grace = shared.options.grace;
    let asked_after = grace
        .saturating_sub(shared.options.stop_wait)
        .max(grace / 2);
    let hurried = shared.stopper.until(|phase| *phase == Phase::StoppingNow);
    tokio::pin!(hurried);
    let is_hurried = tokio::select! {
        ended = timeout(left(begun, asked_after), shared.bench.emptied()) => {
            if ended.is_ok() {
                return;
            }
            false
        }
        _ = &mut hurried => true,
    };
    for lane in &shared.lanes {
        for run in lane.open() {
            // One that does not listen gains nothing by being asked: it has the whole grace.
            if is_hurried || run.listens() {
                shared.ask_to_stop(lane, &run, StopReason::Leaving);
            }
        }
    }
    if is_hurried {
        let _ = timeout(NOW, shared.bench.emptied()).await;
        return;
    }
    tokio::select! {
        _ = timeout(left(begun, grace), shared.bench.emptied()) => {}
        _ = &mut hurried => drop(timeout(NOW, shared.bench.emptied()).await),
    }
}

/// What is left of a span that may be longer than the clock goes.
fn left(begun: Instant, span: Duration) -> Duration {
    span.saturating_sub(begun.elapsed())
}

async fn answered(shared: &Shared) {
    for lane in &shared.lanes {
        lane.outbox.emptied().await;
        lane.late.emptied().await;
    }
}

async fn leave(shared: &Shared) {
    let mut boots: Vec<_> = shared
        .lanes
        .iter()
        .flat_map(|lane| lane.holdings().boots())
        .collect();
    boots.push(shared.boot());
    boots.sort();
    boots.dedup();
    for boot in boots {
        if let Err(error) = shared.stores.store.leave(&boot, None).await {
            tracing::warn!(target: "windlass", code = error.code(), help = error.help(),
                "leave: {error}; what is held comes back when its lease ends");
        }
    }
}
