//! Picks ready jobs for a claim, highest priority first. A suspect is claimed alone.

use rusqlite::{Params, params};
use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, PAGE, SUSPECT_COOLDOWN};
use windlass_core::store::{ClaimedJob, Reason};
use windlass_core::{ClaimRequest, Priority, Timestamp};

use crate::claim::LeaseRow;
use crate::error::TxResult;
use crate::row::{self, Blobs, JobMeta};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// A job picked for a claim: its metadata, and what the worker receives.
pub(crate) type Picked = (JobMeta, ClaimedJob);

impl QueueTx<'_> {
    /// Picks ready jobs, highest priority first, up to `max` jobs and `CLAIM_BYTES_MAX` of payload. A
    /// suspect is picked alone.
    pub(crate) fn pick(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
    ) -> TxResult<Vec<Picked>> {
        let max = request.max.min(CLAIM_MAX);
        let may_pick_suspect = self.may_pick_suspect(lease)?;
        let mut picked = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        for priority in Priority::all() {
            while expired < PAGE
                && picked.len() < max
                && self.queue.counters.ready[priority.index()] > 0
            {
                if may_pick_suspect && let Some(suspect) = self.lane(priority, 0, None, 1)?.pop() {
                    if !picked.is_empty() {
                        return Ok(picked);
                    }
                    if self.end_if_expired(&suspect.0)? {
                        expired += 1;
                        continue;
                    }
                    return Ok(vec![suspect]);
                }
                // Jobs already picked stay at the head of the lane until they are marked as running.
                let is_same = |(meta, _): &&Picked| meta.priority == priority;
                let last = picked.iter().rfind(is_same).map(|(meta, _)| meta.key);
                let page = self.lane(priority, 1, last, max - picked.len())?;
                let is_end = page.is_empty();
                for (meta, job) in page {
                    if expired >= PAGE {
                        break;
                    }
                    if self.end_if_expired(&meta)? {
                        expired += 1;
                        continue;
                    }
                    bytes += job.payload.len();
                    if bytes > CLAIM_BYTES_MAX && !picked.is_empty() {
                        return Ok(picked);
                    }
                    picked.push((meta, job));
                }
                if is_end {
                    break;
                }
            }
        }
        Ok(picked)
    }

    /// The next jobs of a lane, after a job of it.
    fn lane(
        &self,
        priority: Priority,
        lane: u8,
        after: Option<i64>,
        limit: usize,
    ) -> TxResult<Vec<Picked>> {
        let condition = "queue = ?1 AND state = 1 AND priority = ?2 AND lane = ?3
            AND position > ifnull((SELECT position FROM job WHERE key = ?4), ?5)
            ORDER BY position LIMIT ?6";
        let (key, level) = (self.queue.key, priority.level());
        self.claimable(condition, params![key, level, lane, after, i64::MIN, limit])
    }

    /// Selects jobs by a condition on the table `job`, in its order. Stops after the one that exceeds the
    /// payload of a claim.
    pub(crate) fn claimable(&self, condition: &str, params: impl Params) -> TxResult<Vec<Picked>> {
        let blobs = Blobs::UpTo(CLAIM_BYTES_MAX);
        let found = row::select_jobs(self.db, &self.queue.name, blobs, condition, params)?;
        Ok(found
            .into_iter()
            .map(|(meta, job)| (meta, job.into()))
            .collect())
    }

    /// A boot may claim another suspect only once its last one has ended or has run for a while.
    fn may_pick_suspect(&self, lease: Option<&LeaseRow>) -> TxResult<bool> {
        let Some((id, number)) = lease.and_then(|lease| lease.suspect.as_ref()) else {
            return Ok(true);
        };
        let (since, now) = (Timestamp::from_ms(number / 1000), self.now.ms());
        // A token from the future: the clock was set back, so how long it ran is unknown.
        if now < since || now.since(since) >= SUSPECT_COOLDOWN {
            return Ok(true);
        }
        let leased = "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3";
        Ok(!self.db.has(leased, params![self.queue.key, id, number])?)
    }

    /// Ends a job whose expiry has passed. Returns whether it did.
    fn end_if_expired(&mut self, job: &JobMeta) -> TxResult<bool> {
        let is_expired = job.expires_at.is_some_and(|at| at <= self.now_ms());
        if is_expired {
            self.end_dead(job, Reason::Expired, None)?;
        }
        Ok(is_expired)
    }
}
