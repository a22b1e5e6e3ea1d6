//! Replies to `maintain` (housekeeping) and `audit` (check and repair).

use crate::change::Cursor;
use crate::name::JobId;

/// What one call of [`Store::maintain`](crate::Store::maintain) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Maintained {
    /// Scheduled jobs that became ready.
    pub promoted: u64,
    /// Jobs returned to the queue from expired leases.
    pub reaped: u64,
    /// Waiting jobs that passed their expiry and are now dead.
    pub expired: u64,
    /// Finished jobs removed.
    pub pruned: u64,
    /// Remembered ids, finished claims and empty leases removed.
    pub forgotten: u64,
    /// Stale entries removed ([`Stats::stale_entries`](crate::queue::Stats::stale_entries)).
    pub stale: u64,
}

impl Maintained {
    /// Returns whether there was nothing to do.
    pub fn is_idle(self) -> bool {
        self == Self::default()
    }

    /// Adds the counts of another call.
    pub fn add(&mut self, other: Self) {
        self.promoted += other.promoted;
        self.reaped += other.reaped;
        self.expired += other.expired;
        self.pruned += other.pruned;
        self.forgotten += other.forgotten;
        self.stale += other.stale;
    }
}

/// One inconsistency that an audit found and repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// A stable code for the inconsistency.
    pub code: &'static str,
    /// The job, if the inconsistency is about one.
    pub id: Option<JobId>,
    /// What was wrong and what was done.
    pub message: String,
}

/// What one call of [`Store::audit`](crate::Store::audit) did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Audited {
    /// Jobs checked.
    pub checked: u64,
    /// Repairs made.
    pub repairs: Vec<Repair>,
    /// The next page. `None` at the end of the queue.
    pub next: Option<Cursor>,
}
