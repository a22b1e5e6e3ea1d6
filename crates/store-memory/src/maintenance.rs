//! maintain and audit.

use windlass_core::limits::{PAGE, SCAN_PAGE};
use windlass_core::store::{Audited, Maintained, Reason, Requeue};

use crate::queue::Queue;
use crate::read::ScanPosition;

impl Queue {
    pub(crate) fn maintain(&mut self, limit: usize) -> Maintained {
        let limit = limit.min(PAGE);
        let instants = self.fire_due(limit);
        let promoted = self.promote_due(limit);
        let (reaped, leases) = self.reap(limit);
        let expired = self.expire(limit);
        let (pruned, forgotten) = self.prune(limit);
        self.sample(None);
        Maintained {
            instants,
            promoted,
            reaped,
            expired,
            pruned,
            forgotten: forgotten + leases,
            stale: 0,
            refills: self.refill_requests(limit),
        }
    }

    /// Moves up to `limit` due jobs to the back of their lanes, ordered by due time, then id.
    pub(crate) fn promote_due(&mut self, limit: usize) -> u64 {
        let mut promoted = 0;
        while promoted < limit
            && let Some((due_at, id)) = self.scheduled.first().cloned()
            && due_at <= self.now.ms()
        {
            self.remove_waiting(&id);
            self.insert_ready(&id, Requeue::Back);
            promoted += 1;
        }
        promoted as u64
    }

    /// Marks up to `limit` waiting jobs past their expiry as dead.
    fn expire(&mut self, limit: usize) -> u64 {
        let mut expired = 0;
        while expired < limit
            && let Some((at, id)) = self.expiring.first().cloned()
            && at <= self.now.ms()
        {
            self.mark_dead(&id, Reason::Expired);
            expired += 1;
        }
        expired as u64
    }

    /// The state cannot be inconsistent, since every transaction holds the lock. The audit still scans
    /// the jobs, so that callers page through every store the same way.
    pub(crate) fn audit(&self, from: Option<&ScanPosition>) -> Audited {
        let page = self.scan(None, from, SCAN_PAGE, false, |_| true);
        Audited {
            checked: page.items.len() as u64,
            repairs: Vec::new(),
            next: page.next,
        }
    }
}
