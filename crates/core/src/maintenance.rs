//! Replies to `maintain` (housekeeping) and `audit` (check and repair).

use crate::change::Cursor;
use crate::name::JobId;
use crate::schedule::RefillRequest;

/// What one call of [`Store::maintain`](crate::Store::maintain) did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Maintained {
    /// Due instants of schedules that fired or were skipped. A schedule that has to wait for a refill counts
    /// as one.
    pub instants: u64,
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
    /// Schedules that need more instants, most urgent first: see
    /// [`Store::refill_schedules`](crate::Store::refill_schedules).
    pub refills: Vec<RefillRequest>,
}

impl Maintained {
    /// Returns whether the call changed nothing.
    pub fn is_idle(&self) -> bool {
        let counts = [
            self.instants,
            self.promoted,
            self.reaped,
            self.expired,
            self.pruned,
            self.forgotten,
            self.stale,
        ];
        counts == [0; 7]
    }

    /// Adds what another call did.
    pub fn add(&mut self, other: Self) {
        self.instants += other.instants;
        self.promoted += other.promoted;
        self.reaped += other.reaped;
        self.expired += other.expired;
        self.pruned += other.pruned;
        self.forgotten += other.forgotten;
        self.stale += other.stale;
        self.refills.extend(other.refills);
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
