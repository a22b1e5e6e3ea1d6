//! The metrics of a worker, recorded if a `metrics` recorder is installed before it starts.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use windlass_core::{OutcomeStatus, QueueName};

/// The metrics of one queue. Handles are created once, so that a job costs only a few additions.
pub(crate) struct QueueMetrics {
    pub(crate) claimed: Counter,
    completed: Counter,
    retrying: Counter,
    dead: Counter,
    released: Counter,
    snoozed: Counter,
    cancelled: Counter,
    lost: Counter,
    pub(crate) running: Gauge,
    /// From due to claimed, by the store's clock.
    pub(crate) wait: Histogram,
    /// From start to end of the handler.
    pub(crate) attempt: Histogram,
    pub(crate) panics: Counter,
}

impl std::fmt::Debug for QueueMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueueMetrics").finish_non_exhaustive()
    }
}

impl QueueMetrics {
    pub(crate) fn new(queue: &QueueName) -> Self {
        let queue = || queue.to_string();
        let outcomes = |outcome: OutcomeStatus| counter!("windlass_outcomes_total", "queue" => queue(), "outcome" => outcome.as_str());
        Self {
            claimed: counter!("windlass_claimed_total", "queue" => queue()),
            completed: outcomes(OutcomeStatus::Completed),
            retrying: outcomes(OutcomeStatus::Retrying),
            dead: outcomes(OutcomeStatus::Dead),
            released: outcomes(OutcomeStatus::Released),
            snoozed: outcomes(OutcomeStatus::Snoozed),
            cancelled: outcomes(OutcomeStatus::Cancelled),
            lost: outcomes(OutcomeStatus::LeaseLost),
            running: gauge!("windlass_running", "queue" => queue()),
            wait: histogram!("windlass_wait_seconds", "queue" => queue()),
            attempt: histogram!("windlass_attempt_seconds", "queue" => queue()),
            panics: counter!("windlass_panics_total", "queue" => queue()),
        }
    }

    pub(crate) fn count_outcomes(&self, outcome: OutcomeStatus, count: u64) {
        let counter = match outcome {
            OutcomeStatus::Completed => &self.completed,
            OutcomeStatus::Retrying => &self.retrying,
            OutcomeStatus::Dead => &self.dead,
            OutcomeStatus::Released => &self.released,
            OutcomeStatus::Snoozed => &self.snoozed,
            OutcomeStatus::Cancelled => &self.cancelled,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => &self.lost,
        };
        counter.increment(count);
    }
}
