//! maintain and audit: what keeps a queue moving with no worker about, and proof that it is sound.

use windlass_core::limits::{PAGE, SCAN_PAGE};
use windlass_core::time::Now;
use windlass_core::{Audited, Maintained, Reason};

use crate::look::Place;
use crate::queue::{End, Queue};

impl Queue {
    pub(crate) fn maintain(&mut self, now: Now, limit: usize) -> Maintained {
        let limit = limit.min(PAGE);
        let promoted = self.promote_due(now, limit);
        let (reaped, leases) = self.reap(now, limit);
        let expired = self.expire(now, limit);
        let (pruned, forgotten) = self.prune(now, limit);
        Maintained {
            promoted,
            reaped,
            expired,
            pruned,
            forgotten: forgotten + leases,
        }
    }

    /// Makes up to `limit` due jobs ready, at the back, in the order (due, id).
    pub(crate) fn promote_due(&mut self, now: Now, limit: usize) -> u64 {
        let mut promoted = 0;
        while promoted < limit
            && let Some((due_at, id)) = self.scheduled.first().cloned()
            && due_at <= now.ms()
        {
            self.unplace(&id);
            self.place_ready(&id, End::Back);
            promoted += 1;
        }
        promoted as u64
    }

    /// Gives up to `limit` waiting jobs up that did not start in time.
    fn expire(&mut self, now: Now, limit: usize) -> u64 {
        let mut expired = 0;
        while expired < limit
            && let Some((at, id)) = self.expiring.first().cloned()
            && at <= now.ms()
        {
            self.bury(&id, now, Reason::Expired);
            expired += 1;
        }
        expired as u64
    }

    /// Nothing can be inconsistent here: places are moved to and from under one lock. The audit
    /// walks the jobs all the same, so that callers page through every store alike.
    pub(crate) fn audit(&self, from: Option<&Place>) -> Audited {
        let page = self.scan(None, from, SCAN_PAGE, |_| true);
        Audited {
            checked: page.items.len() as u64,
            repairs: Vec::new(),
            next: page.next,
        }
    }
}
