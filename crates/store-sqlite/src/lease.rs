//! Moves jobs between ready, scheduled and leased, and records how they leave their claim.

use rusqlite::params;
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::store::{Owner, Requeue};
use windlass_core::time::as_ms;
use windlass_core::{JobId, JobLease, JobState, OutcomeStatus, Priority, Token};

use crate::error::{TxError, TxResult};
use crate::lane::{self, HOLDER, NO_HOLDER};
use crate::row::{JobMeta, job_id, sql_number};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Clears the columns that only a leased job has.
pub(crate) const CLEAR_LEASE: &str = "token_number = NULL, token_nonce = NULL, worker = NULL, \
    accepted_at = NULL, progress = NULL, cancel_requested = 0";

impl QueueTx<'_> {
    /// Finds a job by id.
    pub(crate) fn find(&self, id: &JobId) -> TxResult<Option<JobMeta>> {
        let condition = "queue = ?1 AND id = ?2";
        JobMeta::first(self.db, condition, params![self.queue.key, id.as_str()])
    }

    /// The job, if the token is its current one.
    pub(crate) fn leased(&self, lease: &JobLease) -> TxResult<Option<JobMeta>> {
        let job = self.find(&lease.id)?;
        Ok(job.filter(|job| job.token == Some(lease.token)))
    }

    /// Puts a job into its lane, at this end.
    pub(crate) fn make_ready(&mut self, job: &JobMeta, end: Requeue) -> TxResult<()> {
        self.leave_group(job, Some(JobState::Ready))?;
        self.put_ready(job, end)
    }

    /// Puts a job that its group no longer counts into its lane.
    pub(crate) fn put_ready(&mut self, job: &JobMeta, end: Requeue) -> TxResult<()> {
        let position = match end {
            Requeue::Front => {
                self.queue.front -= 1;
                self.queue.front
            }
            Requeue::Back => {
                self.queue.back += 1;
                self.queue.back
            }
        };
        self.db.run(
            &format!(
                "UPDATE job SET state = 1, lane = ?2, position = ?3, expiries = ?4, due_at = ?5,
                                started_at = NULL, {CLEAR_LEASE}
                 WHERE key = ?1"
            ),
            params![
                job.key,
                self.lane_in_line(job),
                position,
                job.expiries,
                job.due_at
            ],
        )?;
        if let Some(group) = &job.group {
            let is_lane = self.queue.settings.group_slot.is_lane();
            let holds_slot = is_lane && job.lane == HOLDER;
            self.enter_line(group, job.priority.level(), holds_slot, end)?;
        }
        self.count_move(&job.id, job.priority, job.state, JobState::Ready);
        Ok(())
    }

    /// The lane of a job in its line. In a group that is an ordered lane priorities do not count: jobs that hold a
    /// slot come before those that do not.
    pub(crate) fn lane_in_line(&self, job: &JobMeta) -> i64 {
        if job.group.is_none() || !self.queue.settings.group_slot.is_lane() {
            lane::lane_of(job.priority, job.expiries)
        } else if job.lane == HOLDER {
            HOLDER
        } else {
            NO_HOLDER
        }
    }

    /// Puts unfinished jobs back into their lanes, keeping their order.
    pub(crate) fn requeue_in_order(&mut self, mut jobs: Vec<JobMeta>) -> TxResult<()> {
        let end = self.queue.settings.requeue;
        if end == Requeue::Front {
            jobs.reverse();
        }
        jobs.iter().try_for_each(|job| self.make_ready(job, end))
    }

    /// Makes a job scheduled; `job` carries its new attempt and expiries.
    pub(crate) fn make_scheduled(&mut self, job: &JobMeta, due_at: u64) -> TxResult<()> {
        self.leave_group(job, Some(JobState::Scheduled))?;
        self.put_scheduled(job, due_at)
    }

    /// Makes a job that its group no longer counts scheduled.
    pub(crate) fn put_scheduled(&mut self, job: &JobMeta, due_at: u64) -> TxResult<()> {
        let is_next = self.is_next_due(due_at)?;
        self.db.run(
            &format!(
                "UPDATE job SET state = 0, due_at = ?2, attempt = ?3, expiries = ?4, started_at = NULL,
                                {CLEAR_LEASE}
                 WHERE key = ?1"
            ),
            params![job.key, due_at, job.attempt, job.expiries],
        )?;
        self.count_move(&job.id, job.priority, job.state, JobState::Scheduled);
        if is_next {
            self.announce_work();
        }
        Ok(())
    }

    /// Updates the counters for a job that changed state.
    pub(crate) fn count_move(
        &mut self,
        id: &JobId,
        priority: Priority,
        from: JobState,
        to: JobState,
    ) {
        let counters = &mut self.queue.counters;
        counters.leave(from, priority);
        counters.enter(to, priority);
        self.announce(id, to);
        self.changed();
    }

    /// Records how a leased job leaves its claim. Completion is the default and is not written.
    pub(crate) fn leave_claim(&mut self, job: &JobMeta, how: OutcomeStatus) -> TxResult<()> {
        self.changed();
        let Some(token) = job.token else {
            return Ok(());
        };
        if how != OutcomeStatus::Completed {
            self.db.run(
                "INSERT OR REPLACE INTO departure (queue, number, id, how) VALUES (?1, ?2, ?3, ?4)",
                params![self.queue.key, token.number, job.id.as_str(), how.as_str()],
            )?;
        }
        self.count_departure(token);
        Ok(())
    }

    /// Counts a job that left a claim; [`Self::update_claims`] writes the counts.
    pub(crate) fn count_departure(&mut self, token: Token) {
        *self.departed.entry(token).or_default() += 1;
    }

    /// Writes how many jobs left each claim. A claim with no remaining jobs is finished.
    pub(crate) fn update_claims(&mut self) -> TxResult<()> {
        let key = self.queue.key;
        self.has_departures |= !self.departed.is_empty();
        for (token, count) in std::mem::take(&mut self.departed) {
            // Two statements: for one with RETURNING, SQLite creates a temporary table.
            let found = self.db.first(
                "SELECT remaining, owner FROM claim WHERE queue = ?1 AND number = ?2",
                params![key, token.number],
                |row| Ok((row.get::<_, i64>(0)?, Owner::from_stored(row.get(1)?))),
            )?;
            let Some((remaining, owner)) = found else {
                continue;
            };
            // A count that is too low (damaged file) stops at 0; an audit repairs it.
            let remaining = remaining.saturating_sub_unsigned(count).max(0);
            self.db.run(
                "UPDATE claim SET remaining = ?3,
                                  finished_at = iif(?3 = 0, ifnull(finished_at, ?4), NULL)
                 WHERE queue = ?1 AND number = ?2",
                params![key, token.number, remaining, self.now_ms()],
            )?;
            // A single claim's lease ends with its last job; a boot's lease goes on.
            if remaining == 0 && owner == Owner::token(token) {
                self.drop_lease(&owner)?;
            }
        }
        Ok(())
    }

    pub(crate) fn drop_lease(&mut self, owner: &Owner) -> TxResult<()> {
        let sql = "DELETE FROM lease WHERE queue = ?1 AND owner = ?2";
        self.db.run(sql, params![self.queue.key, owner.as_str()])?;
        Ok(())
    }

    /// The reply to a token that is not the job's current one: the status of the earlier call if
    /// this repeats it, else `LeaseLost`, or `Gone` if the job no longer exists.
    pub(crate) fn repeated_status(
        &self,
        lease: &JobLease,
        same: &[OutcomeStatus],
    ) -> TxResult<OutcomeStatus> {
        let how = if self.is_remembered(lease.token)? {
            self.departure_of(lease)?
        } else {
            None
        };
        Ok(match how {
            Some(how) if same.contains(&how) => how,
            Some(_) => OutcomeStatus::LeaseLost,
            None if self.find(&lease.id)?.is_some() => OutcomeStatus::LeaseLost,
            None => OutcomeStatus::Gone,
        })
    }

    /// Whether a claim is open, or finished so recently that repeated calls are recognized.
    fn is_remembered(&self, token: Token) -> TxResult<bool> {
        self.db.has(
            "SELECT 1 FROM claim WHERE queue = ?1 AND number = ?2 AND nonce = ?3
                AND ifnull(finished_at + ?4 > ?5, 1)",
            params![
                self.queue.key,
                sql_number(token),
                token.nonce,
                as_ms(CLAIM_TOMBSTONE),
                self.now_ms()
            ],
        )
    }

    /// How a job left the claim of a token, or `None` if it was never in it.
    fn departure_of(&self, lease: &JobLease) -> TxResult<Option<OutcomeStatus>> {
        let how: Option<String> = self.db.value(
            "SELECT how FROM departure WHERE queue = ?1 AND number = ?2 AND id = ?3",
            params![self.queue.key, lease.token.number, lease.id.as_str()],
        )?;
        if let Some(how) = how {
            return departure(&how).map(Some);
        }
        let was_in = self.claimed_ids(lease.token.number)?.contains(&lease.id);
        Ok(was_in.then_some(OutcomeStatus::Completed))
    }

    /// The ids a claim handed out, in claim order.
    pub(crate) fn claimed_ids(&self, number: u64) -> TxResult<Vec<JobId>> {
        let sql = "SELECT ids FROM claim_ids WHERE queue = ?1 AND number = ?2";
        let ids: Option<String> = self.db.value(sql, params![self.queue.key, number])?;
        ids.unwrap_or_default().lines().map(job_id).collect()
    }
}

/// Parses how a job left a claim.
pub(crate) fn departure(how: &str) -> TxResult<OutcomeStatus> {
    OutcomeStatus::from_text(how).ok_or_else(|| TxError::corrupt("departure", how))
}
