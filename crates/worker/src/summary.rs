//! What a worker has done, in figures.

use std::sync::atomic::{AtomicU64, Ordering};

/// What became of the jobs a worker ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Ended well.
    pub succeeded: u64,
    /// Attempts that failed and will be made again.
    pub failed: u64,
    /// Failed for good.
    pub dead: u64,
    /// Given back, attempt not counted.
    pub released: u64,
    /// Put off, attempt not counted.
    pub snoozed: u64,
    /// Stopped because somebody asked.
    pub cancelled: u64,
    /// Lost to the end of their lease: somebody else has them.
    pub lost: u64,
}

/// The figures while they grow.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) dead: AtomicU64,
    pub(crate) released: AtomicU64,
    pub(crate) snoozed: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Tally {
    pub(crate) fn summary(&self) -> Summary {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
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
