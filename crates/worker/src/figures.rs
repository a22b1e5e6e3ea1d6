//! The figures of a worker, for whoever installs a recorder of `metrics` before it starts.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use windlass_core::{OutcomeStatus, QueueName};

/// The figures of one queue; handles are made once, so that a job costs a few additions.
pub(crate) struct Figures {
    pub(crate) claimed: Counter,
    completed: Counter,
    scheduled: Counter,
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

impl std::fmt::Debug for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Figures").finish_non_exhaustive()
    }
}

impl Figures {
    pub(crate) fn new(queue: &QueueName) -> Self {
        let queue = || queue.to_string();
        let settled = |outcome: OutcomeStatus| counter!("windlass_settled_total", "queue" => queue(), "outcome" => outcome.as_str());
        Self {
            claimed: counter!("windlass_claimed_total", "queue" => queue()),
            completed: settled(OutcomeStatus::Completed),
            scheduled: settled(OutcomeStatus::Retrying),
            dead: settled(OutcomeStatus::Dead),
            released: settled(OutcomeStatus::Released),
            snoozed: settled(OutcomeStatus::Snoozed),
            cancelled: settled(OutcomeStatus::Cancelled),
            lost: settled(OutcomeStatus::LeaseLost),
            running: gauge!("windlass_running", "queue" => queue()),
            wait: histogram!("windlass_wait_seconds", "queue" => queue()),
            attempt: histogram!("windlass_attempt_seconds", "queue" => queue()),
            panics: counter!("windlass_panics_total", "queue" => queue()),
        }
    }

    pub(crate) fn settled(&self, outcome: OutcomeStatus, count: u64) {
        let counter = match outcome {
            OutcomeStatus::Completed => &self.completed,
            OutcomeStatus::Retrying => &self.scheduled,
            OutcomeStatus::Dead => &self.dead,
            OutcomeStatus::Released => &self.released,
            OutcomeStatus::Snoozed => &self.snoozed,
            OutcomeStatus::Cancelled => &self.cancelled,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => &self.lost,
        };
        counter.increment(count);
    }
}
