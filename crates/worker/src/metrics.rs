//! The metrics of a worker, recorded if a `metrics` recorder is installed before it starts.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use windlass_core::{OutcomeStatus, QueueName};

/// The metrics of one queue. Handles are created once, so that a job costs only a few additions.
#[derive(Debug)]
pub(crate) struct QueueMetrics {
    pub(crate) claimed: Counter,
    outcomes: Vec<(OutcomeStatus, Counter)>,
    pub(crate) running: Gauge,
    /// From due to claimed, by the store's clock.
    pub(crate) wait: Histogram,
    /// From start to end of the handler.
    pub(crate) attempt: Histogram,
}

impl QueueMetrics {
    pub(crate) fn new(queue: &QueueName) -> Self {
        let queue = || queue.to_string();
        let outcomes = OutcomeStatus::ALL
            .iter()
            .filter(|status| **status != OutcomeStatus::Gone);
        let counter_of = |status: &OutcomeStatus| {
            let counter = counter!("windlass_outcomes_total", "queue" => queue(), "outcome" => status.as_str());
            (*status, counter)
        };
        Self {
            claimed: counter!("windlass_claimed_total", "queue" => queue()),
            outcomes: outcomes.map(counter_of).collect(),
            running: gauge!("windlass_running", "queue" => queue()),
            wait: histogram!("windlass_wait_seconds", "queue" => queue()),
            attempt: histogram!("windlass_attempt_seconds", "queue" => queue()),
        }
    }

    /// Counts the store's reply to one outcome; a job that is gone counts as a lost lease.
    pub(crate) fn count(&self, status: OutcomeStatus) {
        let status = match status {
            OutcomeStatus::Gone => OutcomeStatus::LeaseLost,
            status => status,
        };
        let mut counters = self.outcomes.iter();
        if let Some((_, counter)) = counters.find(|(known, _)| *known == status) {
            counter.increment(1);
        }
    }
}
