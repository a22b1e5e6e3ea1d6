//! Taking jobs out of the lanes, first priority first; a suspect comes alone.

use rusqlite::params;
use windlass_core::limits::{CLAIM_MAX, PAGE, SUSPECT_COOLDOWN};
use windlass_core::{ClaimRequest, ClaimedJob, Job, Priority, Reason, Timestamp};

use crate::claim::LeaseRow;
use crate::fault::Db;
use crate::row::{self, Brief, Large};
use crate::step::Step;

/// A job on its way out: what the store decides by, and what the worker gets.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) brief: Brief,
    pub(crate) job: ClaimedJob,
}

impl Taken {
    /// Jobs by a condition on the table `job`, in its order, each read once.
    pub(crate) fn select(
        step: &Step<'_>,
        condition: &str,
        params: impl rusqlite::Params,
    ) -> Db<Vec<Self>> {
        let found = row::select_jobs(step.db, &step.queue.name, Large::With, condition, params)?;
        let taken = |(key, job): (i64, Job)| Self {
            brief: Brief::of(key, &job),
            job: job.into(),
        };
        Ok(found.into_iter().map(taken).collect())
    }
}

impl Step<'_> {
    /// Takes jobs out of the lanes, first priority first. A suspect is taken alone.
    pub(crate) fn take(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
    ) -> Db<Vec<Taken>> {
        let max = request.max.min(CLAIM_MAX);
        let may_take_suspect = self.may_take_suspect(lease)?;
        let mut taken = Vec::new();
        let mut passed = 0;
        for priority in Priority::all() {
            while passed < PAGE
                && taken.len() < max
                && self.queue.figures.ready[priority.index()] > 0
            {
                let suspects = if may_take_suspect {
                    self.lane(priority, 0, 1)?
                } else {
                    vec![]
                };
                if let Some(suspect) = suspects.into_iter().next() {
                    if !taken.is_empty() {
                        return Ok(taken);
                    }
                    if self.expire_met(&suspect.brief)? {
                        passed += 1;
                        continue;
                    }
                    return Ok(vec![suspect]);
                }
                // Jobs already taken stand at the head of the lane until they are handed out.
                let page = self.lane_after(priority, &taken, max - taken.len())?;
                let is_end = page.is_empty();
                for job in page {
                    if passed >= PAGE {
                        break;
                    }
                    if self.expire_met(&job.brief)? {
                        passed += 1;
                    } else {
                        taken.push(job);
                    }
                }
                if is_end {
                    break;
                }
            }
        }
        Ok(taken)
    }

    /// The first jobs of a lane that stand behind those already taken from it.
    fn lane_after(&self, priority: Priority, taken: &[Taken], limit: usize) -> Db<Vec<Taken>> {
        let is_same = |job: &&Taken| job.brief.priority == priority;
        let Some(last) = taken.iter().rev().find(is_same) else {
            return self.lane(priority, 1, limit);
        };
        let condition = "queue = ?1 AND state = 1 AND priority = ?2 AND lane = 1
            AND position > (SELECT position FROM job WHERE key = ?3) ORDER BY position LIMIT ?4";
        let params = params![self.queue.key, priority.level(), last.brief.key, limit];
        Taken::select(self, condition, params)
    }

    fn lane(&self, priority: Priority, lane: u8, limit: usize) -> Db<Vec<Taken>> {
        let condition = "queue = ?1 AND state = 1 AND priority = ?2 AND lane = ?3
                         ORDER BY position LIMIT ?4";
        Taken::select(
            self,
            condition,
            params![self.queue.key, priority.level(), lane, limit],
        )
    }

    /// A boot takes its next suspect only when the last one ended or has run for a while.
    fn may_take_suspect(&self, lease: Option<&LeaseRow>) -> Db<bool> {
        let Some((id, number)) = lease.and_then(|lease| lease.suspect.as_ref()) else {
            return Ok(true);
        };
        let (since, now) = (Timestamp::from_ms(number / 1000), self.now.ms());
        // A token from the future: the clock was set back, and how long it ran is not known.
        if now < since || now.since(since) >= SUSPECT_COOLDOWN {
            return Ok(true);
        }
        let job = Brief::find(self.db, self.queue.key, id)?;
        let holder = job.and_then(|job| job.token);
        Ok(holder.is_none_or(|token| token.number != *number))
    }

    /// A job that a claim meets too late is given up.
    fn expire_met(&mut self, job: &Brief) -> Db<bool> {
        let is_expired = job.expires_at.is_some_and(|at| at <= self.now_ms());
        if is_expired {
            self.bury(job, Reason::Expired, None)?;
        }
        Ok(is_expired)
    }
}
