//! maintain: fires due schedules, promotes, reaps, expires and prunes, so that a queue advances without workers.

use rusqlite::params;
use windlass_core::JobState;
use windlass_core::limits::PAGE;
use windlass_core::store::{Maintained, Reason, Requeue};

use crate::error::TxResult;
use crate::row::JobMeta;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    pub(crate) fn maintain(&mut self, limit: usize) -> TxResult<Maintained> {
        let limit = limit.min(PAGE);
        let instants = self.fire_due(limit)?;
        let promoted = self.promote_due(limit)?;
        let (reaped, leases) = self.reap(limit)?;
        let expired = self.expire_due(limit)?;
        let (pruned, forgotten) = self.prune(limit)?;
        self.forget_groups(self.now.us)?;
        self.sample(None)?;
        Ok(Maintained {
            instants,
            promoted,
            reaped,
            expired,
            pruned,
            forgotten: forgotten + leases,
            stale: 0,
            refills: self.refill_requests(limit)?,
        })
    }

    /// Makes up to `limit` due jobs ready, at the back of their lanes, ordered by (due, id).
    pub(crate) fn promote_due(&mut self, limit: usize) -> TxResult<u64> {
        if self.queue.counters.scheduled == 0 {
            return Ok(0);
        }
        let due = "queue = ?1 AND state = 0 AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3";
        let due = JobMeta::select(self.db, due, params![self.queue.key, self.now_ms(), limit])?;
        for job in &due {
            self.make_ready(job, Requeue::Back)?;
        }
        Ok(due.len() as u64)
    }

    /// Ends up to `limit` waiting jobs that did not start before their expiry.
    fn expire_due(&mut self, limit: usize) -> TxResult<u64> {
        let late = "queue = ?1 AND state < 2 AND expires_at IS NOT NULL AND expires_at <= ?2
                    ORDER BY expires_at, id LIMIT ?3";
        let late = JobMeta::select(self.db, late, params![self.queue.key, self.now_ms(), limit])?;
        let expired = late.len() as u64;
        for job in late {
            let job = match job.state {
                // The end of an earlier one may have released it.
                JobState::Pending => self.find(&job.id)?,
                _ => Some(job),
            };
            if let Some(job) = job {
                self.end_dead(&job, Reason::Expired)?;
            }
        }
        Ok(expired)
    }
}
