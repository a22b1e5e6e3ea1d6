//! Runs one attempt: handler in, outcome out, whatever happens in between.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;

use crate::bench::Claimed;
use crate::context::Context;
use crate::deadlines::{Key, Step};
use crate::guard::guarded;
use crate::lane::Lane;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::shared::Shared;
use crate::slots::Slot;

/// Starts a claimed job, or lets it wait for a seat.
pub(crate) fn enter(shared: &Arc<Shared>, claimed: Claimed) {
    if let Some(claimed) = shared.bench.enter(claimed) {
        start(shared, claimed);
    }
}

/// Starts a job that has a seat.
fn start(shared: &Arc<Shared>, claimed: Claimed) {
    let Claimed { lane, run, slot } = claimed;
    run.start();
    lane.figures.running.increment(1);
    let timeout = run
        .deadline()
        .map(|deadline| shared.deadlines.add(deadline, Step::TimeOut, &lane, &run));
    let seat = Seat {
        shared: Arc::clone(shared),
        lane,
        run: Arc::clone(&run),
        slot: Some(slot),
        began: Instant::now(),
        timeout,
    };
    let Some(handlers) = shared.handlers.get() else {
        return;
    };
    let task = handlers.spawn(attempt(seat));
    run.set_abort(task.abort_handle());
    // Asked to stop before there was anything to drop.
    if run.is_ended() {
        run.abort();
    }
}

async fn attempt(seat: Seat) {
    let job = &seat.run.job;
    let span = tracing::info_span!(
        target: "windlass",
        "attempt",
        queue = %seat.lane.queue(),
        id = %job.id,
        kind = job.kind.as_ref().map(|kind| kind.as_str()),
        attempt = job.attempt,
        traceparent = job.headers.get("traceparent"),
    );
    let context = Context(Arc::clone(&seat.run));
    let running = guarded(|| seat.shared.handler.handle(context));
    let ended = if span.is_disabled() {
        running.await
    } else {
        running.instrument(span).await
    };
    let outcome = ended.unwrap_or_else(|panic| {
        seat.lane.figures.panics.increment(1);
        Outcome::failed(format!("the handler panicked: {panic}"))
    });
    seat.returned(outcome);
}

/// The place of a running job; it is free again when the handler is out of it, however it went.
struct Seat {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    run: Arc<Run>,
    slot: Option<Slot>,
    began: Instant,
    timeout: Option<Key>,
}

impl Seat {
    fn returned(mut self, outcome: Outcome) {
        let slot = self.slot.take();
        self.shared.returned(&self.lane, &self.run, outcome, slot);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // Dropped on the way: by the keeper, who has said how it ended, or with its runtime.
            self.shared
                .returned(&self.lane, &self.run, Outcome::Release, Some(slot));
        }
        if let Some(key) = self.timeout {
            self.shared.deadlines.remove(key);
        }
        self.lane.figures.running.decrement(1);
        self.lane.figures.attempt.record(self.began.elapsed());
        if let Some(next) = self.shared.bench.leave() {
            start(&self.shared, next);
        }
    }
}
