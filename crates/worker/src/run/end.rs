//! Ends attempts: when the handler returns, or when it must stop.

use std::sync::Arc;
use std::time::Instant;

use windlass_core::limits::MESSAGE_BYTES_MAX;
use windlass_core::{Mode, OutcomeStatus};

use crate::claim::slots::Slot;
use crate::events;
use crate::lock::lock;
use crate::outcome::{Outcome, RetryWhen};
use crate::queue_state::QueueState;
use crate::run::attempt::Attempt;
use crate::run::outcome_queue::{EndedAttempt, OutcomeQueue};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::stop::deadlines::DeadlineAction;

impl Shared {
    /// Handles the return of a handler; its outcome counts unless the attempt has already ended.
    pub(crate) fn handler_returned(
        &self,
        queue: &QueueState,
        attempt: &Arc<Attempt>,
        outcome: Outcome,
        slot: Option<Slot>,
    ) {
        if attempt.end() {
            let outcome = match self.options.mode {
                Mode::AtMostOnce => outcome,
                _ => self.outcome_to_store(attempt, outcome),
            };
            self.report(queue, &queue.outcomes, attempt, outcome, slot);
        }
    }

    /// Asks an attempt to stop. If its handler watches for cancellation it gets time to return;
    /// otherwise the attempt ends now.
    pub(crate) fn ask_to_stop(
        &self,
        queue: &Arc<QueueState>,
        attempt: &Arc<Attempt>,
        why: StopReason,
    ) {
        if why == StopReason::LeaseLost {
            self.lose_lease(queue, attempt);
            return;
        }
        if attempt.is_ended() || attempt.stop_reason().is_some() {
            return;
        }
        if attempt.ask_to_stop(why) {
            self.force_later(queue, attempt);
        } else {
            self.force(queue, attempt);
        }
    }

    /// Ends an attempt after `stop_wait`. Does nothing if that time overflows `Instant`.
    fn force_later(&self, queue: &Arc<QueueState>, attempt: &Arc<Attempt>) {
        if let Some(at) = Instant::now().checked_add(self.options.stop_wait) {
            self.deadlines
                .add(at, DeadlineAction::Force, queue, attempt);
        }
    }

    /// Ends an attempt and aborts its handler.
    pub(crate) fn force(&self, queue: &Arc<QueueState>, attempt: &Arc<Attempt>) {
        if attempt.end() {
            let outcome = match attempt.stop_reason() {
                Some(StopReason::TimedOut) => {
                    with_last_lines(timed_out(attempt), RetryWhen::ByPolicy, attempt)
                }
                // The store cancels a job that is released after it was cancelled.
                _ => Outcome::Release,
            };
            self.report(queue, &queue.forced_outcomes, attempt, outcome, None);
        }
        attempt.abort();
    }

    /// Ends an attempt whose lease is lost: its outcome is not stored.
    fn lose_lease(&self, queue: &Arc<QueueState>, attempt: &Arc<Attempt>) {
        let is_first = attempt.end();
        let watches_cancellation = attempt.ask_to_stop(StopReason::LeaseLost);
        queue
            .held_claims()
            .remove(std::slice::from_ref(attempt), true);
        if is_first {
            self.count([(attempt, OutcomeStatus::LeaseLost)]);
            let consequence = "stopping the attempt; another worker may run the job";
            events::lease_lost(queue, attempt, consequence);
            if watches_cancellation {
                self.force_later(queue, attempt);
                return;
            }
        }
        attempt.abort();
    }

    /// Passes the outcome of an attempt to the loop that reports `outcomes`.
    fn report(
        &self,
        queue: &QueueState,
        outcomes: &OutcomeQueue,
        attempt: &Arc<Attempt>,
        outcome: Outcome,
        slot: Option<Slot>,
    ) {
        if self.options.mode == Mode::AtMostOnce {
            // The store counted it as done when it was claimed.
            let mut summary = lock(&self.summary);
            match outcome {
                Outcome::Done(_) => {
                    summary.succeeded += 1;
                    attempt.metrics.count(OutcomeStatus::Completed);
                    events::attempt_ended(queue, attempt, OutcomeStatus::Completed);
                }
                outcome => {
                    summary.failed += 1;
                    // It failed, and is not retried.
                    attempt.metrics.count(OutcomeStatus::Dead);
                    if let Outcome::Failed { error, .. } = outcome {
                        events::job_dead(queue, &attempt.job, &error);
                    }
                }
            }
            return;
        }
        let is_leaving = attempt.stop_reason() == Some(StopReason::Leaving);
        let mut ended = EndedAttempt {
            attempt: Arc::clone(attempt),
            outcome,
            slot,
        };
        if is_leaving && ended.outcome == Outcome::Release {
            // Sent together with the others: jobs return in claim order, not in the order in which their
            // handlers end.
            ended.slot = None;
            queue.forced_outcomes.hold_back(ended);
        } else {
            outcomes.push([ended]);
        }
    }

    /// Returns the outcome to store for what the handler returned.
    fn outcome_to_store(&self, attempt: &Attempt, outcome: Outcome) -> Outcome {
        match (outcome, attempt.stop_reason()) {
            (Outcome::Done(Some(result)), _) if result.len() > self.limits.payload_bytes_max => {
                let error = format!(
                    "the result is too large: {} bytes, the limit is {}; the handler itself succeeded",
                    result.len(),
                    self.limits.payload_bytes_max
                );
                Outcome::permanent(error)
            }
            // Interrupted because the worker stops: the failure does not count.
            (Outcome::Failed { .. }, Some(StopReason::Leaving)) => Outcome::Release,
            (Outcome::Failed { error, retry }, Some(StopReason::TimedOut)) => {
                with_last_lines(format!("{}: {error}", timed_out(attempt)), retry, attempt)
            }
            (Outcome::Failed { error, retry }, _) => with_last_lines(error, retry, attempt),
            (outcome, _) => outcome,
        }
    }
}

fn timed_out(attempt: &Attempt) -> String {
    match attempt.timeout {
        Some(timeout) => format!("the attempt timed out after {timeout:?}"),
        None => "the attempt timed out".to_owned(),
    }
}

/// Appends the last logged lines to the error.
fn with_last_lines(mut error: String, retry: RetryWhen, attempt: &Attempt) -> Outcome {
    let last_lines = attempt.last_lines();
    // The error of a program may end with its only line.
    if !last_lines.is_empty() && !error.ends_with(&last_lines) {
        let room = MESSAGE_BYTES_MAX.saturating_sub(last_lines.len() + 32);
        error.truncate(error.floor_char_boundary(room));
        error = format!("{error}\nlast log lines:\n{last_lines}");
    }
    Outcome::Failed { error, retry }
}
