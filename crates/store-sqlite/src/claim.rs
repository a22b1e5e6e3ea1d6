//! claim: promotes due jobs, reaps expired leases, then picks ready jobs by priority.

use std::time::Duration;

use rusqlite::params;
use windlass_core::limits::{PAGE, SUSPECT_AFTER};
use windlass_core::store::{ClaimedJob, Claimer, LeaseStatus, Owner};
use windlass_core::time::as_ms;
use windlass_core::{Claim, ClaimRequest, JobLease, JobState, Mode, Timestamp, Token};

use crate::error::TxResult;
use crate::pick::Picked;
use crate::row::{self, JobMeta, token_of};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// What one transaction of a claim did.
#[derive(Debug)]
pub(crate) enum ClaimStep {
    /// The reply.
    Done(Option<Claim>),
    /// It reaped a part of a lease: nothing is handed out before the rest is back, since the newest jobs
    /// come back first. Claim again.
    Again,
}

/// The columns of a lease that a claim needs.
#[derive(Debug)]
pub(crate) struct LeaseRow {
    last: Option<(u64, Token)>,
    /// The boot's latest suspect: its id and the number of its token.
    pub(crate) suspect: Option<(String, u64)>,
}

impl QueueTx<'_> {
    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> TxResult<ClaimStep> {
        let lease = self.lease_of(&request.claimer)?;
        if let Some((last_seq, token)) = lease.and_then(|lease| lease.last)
            && request.claimer.seq() <= last_seq
        {
            let is_latest = request.claimer.seq() == last_seq;
            return Ok(ClaimStep::Done(if is_latest {
                self.repeat_claim(request, token)?
            } else {
                None
            }));
        }
        self.promote_due(PAGE)?;
        let reaped = self.reap(PAGE)?;
        if reaped != (0, 0) && self.is_reaping()? {
            self.prune(PAGE)?;
            return Ok(ClaimStep::Again);
        }
        // The reap may have ended this boot's lease.
        let lease = self.lease_of(&request.claimer)?;
        let picked = if self.queue.is_paused {
            Vec::new()
        } else {
            self.pick(request, lease.as_ref())?
        };
        let claim = if picked.is_empty() {
            None
        } else {
            Some(self.hand_out(request, picked)?)
        };
        self.prune(PAGE)?;
        Ok(ClaimStep::Done(claim))
    }

    /// Whether some jobs of a lease are back and others not yet.
    fn is_reaping(&self) -> TxResult<bool> {
        let sql = "SELECT 1 FROM lease WHERE queue = ?1 AND until <= 0 LIMIT 1";
        self.db.has(sql, [self.queue.key])
    }

    fn lease_of(&self, claimer: &Claimer) -> TxResult<Option<LeaseRow>> {
        let Claimer::Worker { boot, .. } = claimer else {
            return Ok(None);
        };
        self.db.first(
            "SELECT last_seq, last_number, last_nonce, suspect_id, suspect_number
             FROM lease WHERE queue = ?1 AND owner = ?2",
            params![self.queue.key, Owner::boot(boot).as_str()],
            |row| {
                let last_seq: Option<u64> = row.get(0)?;
                let suspect_id: Option<String> = row.get(3)?;
                Ok(LeaseRow {
                    last: last_seq.zip(token_of(row.get(1)?, row.get(2)?)),
                    suspect: suspect_id.zip(row.get(4)?),
                })
            },
        )
    }

    /// Repeats the boot's latest claim: returns the jobs that are still leased.
    fn repeat_claim(&mut self, request: &ClaimRequest, token: Token) -> TxResult<Option<Claim>> {
        let mut jobs = Vec::new();
        for id in self.claimed_ids(token.number)? {
            let condition = "queue = ?1 AND id = ?2 AND token_number = ?3 AND token_nonce = ?4";
            let params = params![self.queue.key, id.as_str(), token.number, token.nonce];
            let leased = self.claimable(condition, params)?;
            jobs.extend(leased.into_iter().map(|(_, job)| job));
        }
        if jobs.is_empty() {
            return Ok(None);
        }
        let until = self.extend(&request.claimer.owner(token), request.lease.get())?;
        Ok(until.map(|until| Claim { token, until, jobs }))
    }

    fn hand_out(&mut self, request: &ClaimRequest, picked: Vec<Picked>) -> TxResult<Claim> {
        let token = Token::next(self.queue.last_token, self.now.us, request.nonce);
        self.queue.last_token = token.number;
        let (picked, jobs): (Vec<JobMeta>, Vec<ClaimedJob>) = picked.into_iter().unzip();
        self.start(request, token, &picked)?;
        let until = if request.mode == Mode::AtMostOnce {
            for job in &picked {
                let job = JobMeta {
                    state: JobState::Running,
                    token: None,
                    ..job.clone()
                };
                self.succeed(&job, None)?;
            }
            // Recorded without its jobs, so that a repeated call does not finish more jobs.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.put_under_lease(request, token, None)?;
            }
            self.now.ms()
        } else {
            self.record_claim(request, token, &picked)?
        };
        Ok(Claim { token, until, jobs })
    }

    /// Marks jobs as running: one statement per lane, since the jobs picked from a lane are all of
    /// its jobs up to the last one picked.
    fn start(&mut self, request: &ClaimRequest, token: Token, picked: &[JobMeta]) -> TxResult<()> {
        let started_at = token.issued_at().as_ms();
        let accepted_at = (request.mode != Mode::Dispatch).then_some(started_at);
        let worker = request.claimer.worker().map(|boot| boot.as_str());
        let mut statement = self.db.prepare_cached(
            "UPDATE job SET state = 2, token_number = ?3, token_nonce = ?4, worker = ?5,
                            started_at = ?6, accepted_at = ?7
             WHERE queue = ?1 AND state = 1 AND priority = ?8 AND lane = ?9
               AND position <= (SELECT position FROM job WHERE key = ?2)",
        )?;
        for lane in picked.chunk_by(|one, next| one.priority == next.priority) {
            let Some(last) = lane.last() else { continue };
            statement.execute(params![
                self.queue.key,
                last.key,
                token.number,
                token.nonce,
                worker,
                started_at,
                accepted_at,
                last.priority.level(),
                last.lane(),
            ])?;
        }
        for job in picked {
            self.count_move(job, JobState::Running);
        }
        Ok(())
    }

    /// Stores the claim and puts it under its owner's lease.
    fn record_claim(
        &mut self,
        request: &ClaimRequest,
        token: Token,
        picked: &[JobMeta],
    ) -> TxResult<Timestamp> {
        let key = self.queue.key;
        self.db.run(
            "INSERT INTO claim (queue, number, nonce, owner, seq, size, remaining)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![
                key,
                token.number,
                token.nonce,
                request.claimer.owner(token).as_str(),
                request.claimer.seq(),
                picked.len()
            ],
        )?;
        let ids: Vec<_> = picked.iter().map(|job| job.id.as_str()).collect();
        self.db.run(
            "INSERT INTO claim_ids (queue, number, ids) VALUES (?1, ?2, ?3)",
            params![key, token.number, ids.join("\n")],
        )?;
        let suspect = picked.iter().find(|job| job.expiries >= SUSPECT_AFTER);
        self.put_under_lease(request, token, suspect)
    }

    /// Puts a claim under its owner's lease, which records a boot's latest claim and latest suspect.
    fn put_under_lease(
        &mut self,
        request: &ClaimRequest,
        token: Token,
        suspect: Option<&JobMeta>,
    ) -> TxResult<Timestamp> {
        let last = match &request.claimer {
            Claimer::Worker { seq, .. } => Some((seq, token.number, token.nonce)),
            Claimer::Single { .. } => None,
        };
        let until: Option<u64> = self.db.value(
            "INSERT INTO lease (queue, owner, until, length_ms, last_seq, last_number, last_nonce,
                                suspect_id, suspect_number)
             VALUES (?1, ?2, ?3 + ?4, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (queue, owner) DO UPDATE SET
                 until = max(until, excluded.until), length_ms = excluded.length_ms,
                 last_seq = excluded.last_seq, last_number = excluded.last_number,
                 last_nonce = excluded.last_nonce,
                 suspect_id = ifnull(excluded.suspect_id, suspect_id),
                 suspect_number = ifnull(excluded.suspect_number, suspect_number)
             RETURNING until",
            params![
                self.queue.key,
                request.claimer.owner(token).as_str(),
                self.now_ms(),
                as_ms(request.lease.get()),
                last.map(|(seq, _, _)| seq),
                last.map(|(_, number, _)| number),
                last.map(|(_, _, nonce)| nonce),
                suspect.map(|job| job.id.as_str()),
                suspect.map(|_| token.number),
            ],
        )?;
        Ok(until.map(Timestamp::from_ms).unwrap_or_default())
    }

    /// Extends a lease, never shortens it. Returns `None` if it is missing or being reaped.
    pub(crate) fn extend(
        &mut self,
        owner: &Owner,
        length: Duration,
    ) -> TxResult<Option<Timestamp>> {
        let until: Option<u64> = self.db.value(
            "UPDATE lease SET until = max(until, ?3 + ?4), length_ms = ?4
             WHERE queue = ?1 AND owner = ?2 AND until > 0 RETURNING until",
            params![self.queue.key, owner.as_str(), self.now_ms(), as_ms(length)],
        )?;
        if until.is_some() {
            self.changed();
        }
        Ok(until.map(Timestamp::from_ms))
    }

    pub(crate) fn accept(&mut self, lease: &JobLease, length: Duration) -> TxResult<LeaseStatus> {
        let Some(job) = self.leased(lease)? else {
            return Ok(LeaseStatus::Lost);
        };
        let Some((owner, _)) = self.owner_of(lease.token)? else {
            return Ok(LeaseStatus::Lost);
        };
        if self.extend(&owner, length)?.is_none() {
            return Ok(LeaseStatus::Lost);
        }
        self.db.run(
            "UPDATE job SET accepted_at = ifnull(accepted_at, ?2) WHERE key = ?1",
            params![job.key, self.now_ms()],
        )?;
        Ok(LeaseStatus::Valid)
    }

    /// The owner of a stored claim, and whether the claim is open.
    pub(crate) fn owner_of(&self, token: Token) -> TxResult<Option<(Owner, bool)>> {
        self.db.first(
            "SELECT owner, finished_at IS NULL FROM claim
             WHERE queue = ?1 AND number = ?2 AND nonce = ?3",
            params![self.queue.key, row::sql_number(token), token.nonce],
            |row| Ok((Owner::from_stored(row.get(0)?), row.get(1)?)),
        )
    }
}
