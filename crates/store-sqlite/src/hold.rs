//! Moving a job between ready, scheduled and held, and what its claim remembers of it.

use rusqlite::{OptionalExtension, params};
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::time::as_ms;
use windlass_core::{JobId, JobLease, JobState, OutcomeStatus, Owner, Requeue, Token};

use crate::fault::{Db, Fault};
use crate::row::{Brief, job_id, sql_number};
use crate::step::Step;

/// Which end of its lane a job goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

/// What only a held job has.
pub(crate) const WIPED: &str = "token_number = NULL, token_nonce = NULL, worker = NULL, \
    accepted_at = NULL, progress = NULL, cancel_requested = 0";

impl Step<'_> {
    /// The job, if the token holds it.
    pub(crate) fn held(&self, hold: &JobLease) -> Db<Option<Brief>> {
        let job = Brief::find(self.db, self.queue.key, hold.id.as_str())?;
        Ok(job.filter(|job| job.token == Some(hold.token)))
    }

    /// The end of its lane that a job goes to when it comes back unfinished.
    pub(crate) fn requeue_end(&self) -> End {
        match self.queue.settings.requeue {
            Requeue::Front => End::Front,
            Requeue::Back => End::Back,
        }
    }

    /// Puts a job into its lane.
    pub(crate) fn place_ready(&mut self, job: &Brief, end: End) -> Db<()> {
        let position = match end {
            End::Front => {
                self.queue.front -= 1;
                self.queue.front
            }
            End::Back => {
                self.queue.back += 1;
                self.queue.back
            }
        };
        self.db
            .prepare_cached(&format!(
                "UPDATE job SET state = 1, lane = ?2, position = ?3, expiries = ?4, due_at = ?5,
                                started_at = NULL, {WIPED}
                 WHERE key = ?1"
            ))?
            .execute(params![
                job.key,
                job.lane(),
                position,
                job.expiries,
                job.due_at
            ])?;
        self.moved(job, JobState::Ready);
        Ok(())
    }

    /// Puts a job into the schedule; `job` carries its new attempt.
    pub(crate) fn place_scheduled(&mut self, job: &Brief, due_at: u64) -> Db<()> {
        let is_next = self.is_next_due(due_at)?;
        self.db
            .prepare_cached(&format!(
                "UPDATE job SET state = 0, due_at = ?2, attempt = ?3, started_at = NULL, {WIPED}
                 WHERE key = ?1"
            ))?
            .execute(params![job.key, due_at, job.attempt])?;
        self.moved(job, JobState::Scheduled);
        if is_next {
            self.announce_work();
        }
        Ok(())
    }

    /// Counts a job in another place.
    pub(crate) fn moved(&mut self, job: &Brief, to: JobState) {
        let figures = &mut self.queue.figures;
        figures.went(job.state, job.priority);
        figures.came(to, job.priority);
        self.announce(&job.id, to);
        self.changed();
    }

    /// Notes how a held job leaves its claim. Completion is what a claim expects: not written.
    pub(crate) fn leave_claim(&mut self, job: &Brief, how: OutcomeStatus) -> Db<()> {
        self.changed();
        let Some(token) = job.token else {
            return Ok(());
        };
        if how != OutcomeStatus::Completed {
            self.db
                .prepare_cached(
                    "INSERT OR REPLACE INTO departure (queue, number, id, how)
                     VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![
                    self.queue.key,
                    token.number,
                    job.id.as_str(),
                    how.as_str()
                ])?;
        }
        self.left_claim(token);
        Ok(())
    }

    /// Counts a job that left a claim; written down by [`Self::settle_claims`].
    pub(crate) fn left_claim(&mut self, token: Token) {
        match self.left.iter_mut().find(|(left, _)| *left == token) {
            Some((_, count)) => *count += 1,
            None => self.left.push((token, 1)),
        }
    }

    /// Writes down how many jobs left each claim; a claim that holds none any more is finished.
    pub(crate) fn settle_claims(&mut self) -> Db<()> {
        for (token, count) in std::mem::take(&mut self.left) {
            let remaining: Option<u64> = self
                .db
                .prepare_cached(
                    // A claim that a damaged file counts too low ends with none, and can be audited.
                    "UPDATE claim SET remaining = max(remaining - ?3, 0),
                                      finished_at = iif(remaining <= ?3, ifnull(finished_at, ?4), NULL)
                     WHERE queue = ?1 AND number = ?2 RETURNING remaining",
                )?
                .query_row(
                    params![self.queue.key, token.number, count, self.now_ms()],
                    |row| row.get(0),
                )
                .optional()?;
            if remaining == Some(0) {
                // A single claim's lease has nothing left to hold; a boot's goes on.
                self.drop_lease(&Owner::token(token))?;
            }
        }
        Ok(())
    }

    pub(crate) fn drop_lease(&mut self, owner: &Owner) -> Db<()> {
        self.db
            .prepare_cached("DELETE FROM lease WHERE queue = ?1 AND owner = ?2")?
            .execute(params![self.queue.key, owner.as_str()])?;
        Ok(())
    }

    /// The answer to a token that does not hold the job: what the same verb was told before, or
    /// that the hold is lost, or that the job is gone.
    pub(crate) fn told_before(&self, hold: &JobLease, same: &[OutcomeStatus]) -> Db<OutcomeStatus> {
        let how = if self.is_remembered(hold.token)? {
            self.departed(hold)?
        } else {
            None
        };
        Ok(match how {
            Some(how) if same.contains(&how) => how,
            Some(_) => OutcomeStatus::LeaseLost,
            None if Brief::find(self.db, self.queue.key, hold.id.as_str())?.is_some() => {
                OutcomeStatus::LeaseLost
            }
            None => OutcomeStatus::Gone,
        })
    }

    /// Whether a claim is open, or finished so lately that repeats are still told.
    fn is_remembered(&self, token: Token) -> Db<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM claim WHERE queue = ?1 AND number = ?2 AND nonce = ?3
                AND ifnull(finished_at + ?4 > ?5, 1)",
        )?;
        let remember_ms = as_ms(CLAIM_TOMBSTONE);
        let key = self.queue.key;
        Ok(statement.exists(params![
            key,
            sql_number(token),
            token.nonce,
            remember_ms,
            self.now_ms()
        ])?)
    }

    /// How a job left the claim of a token; nothing when it was never in it.
    fn departed(&self, hold: &JobLease) -> Db<Option<OutcomeStatus>> {
        let mut statement = self.db.prepare_cached(
            "SELECT how FROM departure WHERE queue = ?1 AND number = ?2 AND id = ?3",
        )?;
        let key = params![self.queue.key, hold.token.number, hold.id.as_str()];
        let how: Option<String> = statement.query_row(key, |row| row.get(0)).optional()?;
        if let Some(how) = how {
            let known = OutcomeStatus::from_text(&how);
            return known
                .map(Some)
                .ok_or_else(|| Fault::unreadable("departure", how));
        }
        let was_in = self.claimed_ids(hold.token.number)?.contains(&hold.id);
        Ok(was_in.then_some(OutcomeStatus::Completed))
    }

    /// The ids a claim handed out, in claim order.
    pub(crate) fn claimed_ids(&self, number: u64) -> Db<Vec<JobId>> {
        let mut statement = self
            .db
            .prepare_cached("SELECT ids FROM claim_ids WHERE queue = ?1 AND number = ?2")?;
        let ids: Option<String> = statement
            .query_row(params![self.queue.key, number], |row| row.get(0))
            .optional()?;
        ids.unwrap_or_default().lines().map(job_id).collect()
    }
}
