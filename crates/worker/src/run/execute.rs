//! Runs one attempt: calls the handler and passes on its outcome.

use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;
use windlass_core::Mode;

use crate::claim::slots::Slot;
use crate::context::AttemptContext;
use crate::events;
use crate::outcome::Outcome;
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::run::catch_panic::run_handler;
use crate::run::run_queue::ClaimedAttempt;
use crate::shared::Shared;
use crate::stop::deadlines::{DeadlineAction, DeadlineKey};

/// Starts a claimed job, or queues it until another one ends.
pub(crate) fn start_or_queue(shared: &Arc<Shared>, claimed: ClaimedAttempt) {
    if let Some(claimed) = shared.run_queue.admit(claimed) {
        start(shared, claimed);
    }
}

/// Starts a job that was admitted.
fn start(shared: &Arc<Shared>, claimed: ClaimedAttempt) {
    let ClaimedAttempt {
        queue,
        attempt,
        slot,
    } = claimed;
    attempt.start();
    queue.metrics().running.increment(1);
    let timeout = attempt.deadline().map(|deadline| {
        shared
            .deadlines
            .add(deadline, DeadlineAction::TimeOut, &queue, &attempt)
    });
    let running = RunningAttempt {
        shared: Arc::clone(shared),
        queue,
        attempt: Arc::clone(&attempt),
        slot: Some(slot),
        began: Instant::now(),
        timeout,
    };
    let Some(handlers) = shared.handlers.get() else {
        return;
    };
    let task = handlers.spawn(run_attempt(running));
    attempt.set_abort(task.abort_handle());
    // It may have been ended before there was a task to abort.
    if attempt.is_ended() {
        attempt.abort();
    }
}

async fn run_attempt(running: RunningAttempt) {
    if !running.may_run() {
        // The reply to the claim was read too late: another worker may have the job.
        running.returned(Outcome::Release);
        return;
    }
    let job = &running.attempt.job;
    let span = tracing::info_span!(
        target: "windlass",
        "attempt",
        queue = %running.queue.name(),
        id = %job.id,
        kind = job.kind.as_ref().map(|kind| kind.as_str()),
        attempt = job.attempt,
        traceparent = job.headers.get("traceparent"),
    );
    events::job_started(running.queue.name(), job);
    let context = AttemptContext(Arc::clone(&running.attempt));
    let handler = run_handler(&context, || running.shared.handler.handle(context.clone()));
    let outcome = if span.is_disabled() {
        handler.await
    } else {
        handler.instrument(span).await
    };
    running.returned(outcome);
}

/// A running job. Dropping it frees its slot and starts the next one, however the handler ended.
struct RunningAttempt {
    shared: Arc<Shared>,
    queue: Arc<QueueState>,
    attempt: Arc<Attempt>,
    slot: Option<Slot>,
    began: Instant,
    timeout: Option<DeadlineKey>,
}

impl RunningAttempt {
    /// Whether the handler may start: the attempt has not ended, and its lease, if any, has not expired.
    fn may_run(&self) -> bool {
        let is_leased = self.shared.options.mode != Mode::AtMostOnce;
        !self.attempt.is_ended() && (self.attempt.is_valid() || !is_leased)
    }

    fn returned(mut self, outcome: Outcome) {
        let slot = self.slot.take();
        self.shared
            .handler_returned(&self.queue, &self.attempt, outcome, slot);
    }
}

impl Drop for RunningAttempt {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // Dropped before it returned: aborted by the lease thread, which has set the outcome, or
            // by the shutdown of the runtime.
            self.shared
                .handler_returned(&self.queue, &self.attempt, Outcome::Release, Some(slot));
        }
        if let Some(key) = self.timeout {
            self.shared.deadlines.remove(key);
        }
        self.queue.metrics().running.decrement(1);
        self.attempt.metrics.duration.record(self.began.elapsed());
        if let Some(next) = self.shared.run_queue.finish() {
            start(&self.shared, next);
        }
    }
}
