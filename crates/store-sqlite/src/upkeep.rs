//! maintain: what keeps a queue moving with no worker about.

use rusqlite::params;
use windlass_core::limits::PAGE;
use windlass_core::{Maintained, Reason};

use crate::fault::Db;
use crate::hold::End;
use crate::row::{Brief, select_brief};
use crate::step::Step;

impl Step<'_> {
    pub(crate) fn maintain(&mut self, limit: usize) -> Db<Maintained> {
        let limit = limit.min(PAGE);
        let promoted = self.promote_due(limit)?;
        let (reaped, leases) = self.reap(limit)?;
        let expired = self.expire_due(limit)?;
        let (pruned, forgotten) = self.prune(limit)?;
        Ok(Maintained {
            promoted,
            reaped,
            expired,
            pruned,
            forgotten: forgotten + leases,
        })
    }

    /// Makes up to `limit` due jobs ready, at the back, in the order (due, id).
    pub(crate) fn promote_due(&mut self, limit: usize) -> Db<u64> {
        if self.queue.figures.scheduled == 0 {
            return Ok(0);
        }
        let due =
            select_brief!("queue = ?1 AND state = 0 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3");
        let due = Brief::select(self.db, due, params![self.queue.key, self.now_ms(), limit])?;
        for job in &due {
            self.place_ready(job, End::Back)?;
        }
        Ok(due.len() as u64)
    }

    /// Gives up to `limit` waiting jobs up that did not start in time.
    fn expire_due(&mut self, limit: usize) -> Db<u64> {
        let late = select_brief!(
            "queue = ?1 AND state < 2 AND expires_at IS NOT NULL AND expires_at <= ?2
             ORDER BY expires_at, id LIMIT ?3"
        );
        let late = Brief::select(self.db, late, params![self.queue.key, self.now_ms(), limit])?;
        for job in &late {
            self.bury(job, Reason::Expired, None)?;
        }
        Ok(late.len() as u64)
    }
}
