//! Counts of what a worker has done.

use windlass_core::OutcomeStatus;

/// How many jobs a worker ran, by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Jobs that succeeded.
    pub succeeded: u64,
    /// Attempts that failed and will be retried.
    pub failed: u64,
    /// Jobs that failed permanently.
    pub dead: u64,
    /// Jobs released; the attempt does not count.
    pub released: u64,
    /// Jobs snoozed; the attempt does not count.
    pub snoozed: u64,
    /// Jobs cancelled while running.
    pub cancelled: u64,
    /// Attempts whose lease was lost: another worker may run the job.
    pub lost: u64,
}

impl Summary {
    /// Counts the store's reply to one outcome; also used by `windlass::testing`.
    #[doc(hidden)]
    pub fn count(&mut self, status: OutcomeStatus) {
        let counter = match status {
            OutcomeStatus::Completed => &mut self.succeeded,
            OutcomeStatus::Retrying => &mut self.failed,
            OutcomeStatus::Dead => &mut self.dead,
            OutcomeStatus::Released => &mut self.released,
            OutcomeStatus::Snoozed => &mut self.snoozed,
            OutcomeStatus::Cancelled => &mut self.cancelled,
            OutcomeStatus::LeaseLost | OutcomeStatus::Gone => &mut self.lost,
        };
        *counter += 1;
    }
}
