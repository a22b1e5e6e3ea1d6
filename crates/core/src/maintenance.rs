//! What keeps a queue moving and sound: the light clean (`maintain`) and the deep one (`audit`).

use crate::change::Cursor;
use crate::name::JobId;

/// What one light clean did; all zero when nothing was left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Maintained {
    /// Due jobs made ready.
    pub promoted: u64,
    /// Jobs taken back from expired leases.
    pub reaped: u64,
    /// Waiting jobs given up because they expired.
    pub expired: u64,
    /// Finished jobs no longer kept.
    pub pruned: u64,
    /// Ids, claims and empty leases no longer remembered.
    pub forgotten: u64,
}

impl Maintained {
    /// Whether the clean found nothing to do.
    pub fn is_idle(self) -> bool {
        self == Self::default()
    }

    /// Adds what another clean did.
    pub fn add(&mut self, other: Self) {
        self.promoted += other.promoted;
        self.reaped += other.reaped;
        self.expired += other.expired;
        self.pruned += other.pruned;
        self.forgotten += other.forgotten;
    }
}

/// One inconsistency found and mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// A stable word for the fault.
    pub code: &'static str,
    /// The job concerned, where there is one.
    pub id: Option<JobId>,
    /// What was wrong and what was done.
    pub message: String,
}

/// What one page of a deep clean did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audited {
    /// Jobs looked at.
    pub checked: u64,
    /// What was mended.
    pub repairs: Vec<Repair>,
    /// Where to go on; nothing when the queue has been seen whole.
    pub next: Option<Cursor>,
}
