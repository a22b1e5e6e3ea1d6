//! Counts of what a worker has done.

use std::sync::atomic::{AtomicU64, Ordering};

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

/// The live counters behind a [`Summary`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) dead: AtomicU64,
    pub(crate) released: AtomicU64,
    pub(crate) snoozed: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Counters {
    pub(crate) fn summary(&self) -> Summary {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Summary {
            succeeded: read(&self.succeeded),
            failed: read(&self.failed),
            dead: read(&self.dead),
            released: read(&self.released),
            snoozed: read(&self.snoozed),
            cancelled: read(&self.cancelled),
            lost: read(&self.lost),
        }
    }
}
