//! claim: fires due schedules, promotes due jobs, reaps expired leases, then picks ready jobs by priority.

use std::time::Duration;

use rusqlite::params;
use windlass_core::limits::{PAGE, SUSPECT_AFTER};
use windlass_core::store::{ClaimedJob, Claimer, LeaseStatus, Owner};
use windlass_core::time::as_ms;
use windlass_core::{Claim, ClaimRequest, JobLease, JobState, Mode, Result, Timestamp, Token};

use crate::error::TxResult;
use crate::lane;
use crate::pick::Picked;
use crate::row::{self, JobMeta, token_of};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Up to this many jobs of a lane are marked as running one by one.
const START_SINGLY_MAX: usize = 8;

/// Marks a job as running.
pub(crate) const START_ONE: &str = "UPDATE job SET state = 2, token_number = ?2, token_nonce = ?3, \
    worker = ?4, started_at = ?5, accepted_at = ?6 WHERE key = ?1";

/// What one transaction of a claim did.
#[derive(Debug)]
pub(crate) enum ClaimStep {
    /// The reply.
    Done(Option<Claim>),
    /// It reaped a part of a lease: nothing is handed out before the rest is back, since the newest jobs
    /// come back first. Claim again.
    Again,
}

/// What marks a job as running.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) token: Token,
    pub(crate) worker: Option<&'a str>,
    pub(crate) started_at: u64,
    pub(crate) accepted_at: Option<u64>,
}

impl<'a> Start<'a> {
    pub(crate) fn new(request: &'a ClaimRequest, token: Token) -> Self {
        let started_at = token.issued_at().as_ms();
        Self {
            token,
            worker: request.claimer.worker().map(|boot| boot.as_str()),
            started_at,
            accepted_at: (request.mode != Mode::Dispatch).then_some(started_at),
        }
    }
}

/// The columns of a lease that a claim needs.
#[derive(Debug)]
pub(crate) struct LeaseRow {
    until: u64,
    last: Option<(u64, Token)>,
    /// The boot's latest suspect: its id and the number of its token.
    pub(crate) suspect: Option<(String, u64)>,
}

impl QueueTx<'_> {
    /// Refuses a mode that the settings exclude. That is a reply: an error would also roll back a clock that was
    /// set back, and run the other calls of the group again.
    pub(crate) fn checked_claim(&mut self, request: &ClaimRequest) -> TxResult<Result<ClaimStep>> {
        match self.queue.settings.check_claim(request.mode) {
            Ok(()) => self.claim(request).map(Ok),
            Err(refused) => Ok(Err(refused)),
        }
    }

    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> TxResult<ClaimStep> {
        let mut lease = self.lease_of(&request.claimer)?;
        if let Some((last_seq, token)) = lease.as_ref().and_then(|lease| lease.last)
            && request.claimer.seq() <= last_seq
        {
            let is_latest = request.claimer.seq() == last_seq;
            return Ok(ClaimStep::Done(if is_latest {
                self.repeat_claim(request, token)?
            } else {
                None
            }));
        }
        self.fire_due(PAGE)?;
        self.promote_due(PAGE)?;
        if self.reap(PAGE)? != (0, 0) {
            if self.is_reaping()? {
                self.prune(PAGE)?;
                return Ok(ClaimStep::Again);
            }
            // The reap may have ended this boot's lease.
            lease = self.lease_of(&request.claimer)?;
        }
        let picked = if self.queue.is_paused {
            Vec::new()
        } else {
            self.pick(request, lease.as_ref())?
        };
        let claim = if picked.is_empty() {
            None
        } else {
            Some(self.hand_out(request, lease.as_ref(), picked)?)
        };
        self.prune(PAGE)?;
        self.sample(claim.as_ref().and_then(|claim| claim.jobs.first()))?;
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
            "SELECT until, last_seq, last_number, last_nonce, suspect_id, suspect_number
             FROM lease WHERE queue = ?1 AND owner = ?2",
            params![self.queue.key, Owner::boot(boot).as_str()],
            |row| {
                let last_seq: Option<u64> = row.get(1)?;
                let suspect_id: Option<String> = row.get(4)?;
                Ok(LeaseRow {
                    until: row.get(0)?,
                    last: last_seq.zip(token_of(row.get(2)?, row.get(3)?)),
                    suspect: suspect_id.zip(row.get(5)?),
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
            jobs.extend(leased.into_iter().map(|picked| picked.job));
        }
        if jobs.is_empty() {
            return Ok(None);
        }
        let until = self.extend(&request.claimer.owner(token), request.lease.get())?;
        Ok(until.map(|until| Claim { token, until, jobs }))
    }

    /// The token of a claim, if it hands out jobs.
    pub(crate) fn next_token(&self, request: &ClaimRequest) -> Token {
        Token::next(self.queue.last_token, self.now.us, request.nonce)
    }

    fn hand_out(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
        picked: Vec<Picked>,
    ) -> TxResult<Claim> {
        let token = self.next_token(request);
        self.queue.last_token = token.number;
        self.count_claimed(picked.len());
        self.start(&Start::new(request, token), &picked)?;
        let until = if request.mode == Mode::AtMostOnce {
            for picked in &picked {
                if let Some(job) = JobMeta::first(self.db, "key = ?1", [picked.key])? {
                    self.succeed(&JobMeta { token: None, ..job }, None)?;
                }
            }
            // Recorded without its jobs, so that a repeated call does not finish more jobs.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.put_under_lease(request, lease, token, None)?;
            }
            self.now.ms()
        } else {
            self.record_claim(request, lease, token, &picked)?
        };
        let jobs = picked.into_iter().map(|picked| picked.job).collect();
        Ok(Claim { token, until, jobs })
    }

    /// Marks jobs as running. Many jobs of a lane are one statement: they are all of its jobs up to the last
    /// one picked. For a few jobs, its temporary table costs more than a statement for each of them.
    fn start(&mut self, start: &Start<'_>, picked: &[Picked]) -> TxResult<()> {
        let Start {
            token: Token { number, nonce },
            worker,
            started_at,
            accepted_at,
        } = start;
        let is_started = picked.iter().any(|picked| picked.is_started);
        let rest = if is_started { &[] } else { picked };
        for lane in rest.chunk_by(|one, next| one.job.priority == next.job.priority) {
            let Some(last) = lane.last().filter(|_| lane.len() > START_SINGLY_MAX) else {
                for Picked { key, .. } in lane {
                    let params = params![key, number, nonce, worker, started_at, accepted_at];
                    self.db.run(START_ONE, params)?;
                }
                continue;
            };
            let lane = lane::lane_of(last.job.priority, last.job.expiries);
            self.db.run(
                "UPDATE job SET state = 2, token_number = ?1, token_nonce = ?2, worker = ?3,
                                started_at = ?4, accepted_at = ?5
                 WHERE queue = ?6 AND state = 1 AND group_name IS NULL AND lane = ?7 AND position <= ?8",
                params![
                    number,
                    nonce,
                    worker,
                    started_at,
                    accepted_at,
                    self.queue.key,
                    lane,
                    last.position,
                ],
            )?;
        }
        for Picked { key, .. } in picked.iter().filter(|picked| picked.frees_key) {
            let sql = "UPDATE job SET unique_key = NULL, unique_for_ms = NULL WHERE key = ?1";
            self.db.run(sql, [key])?;
        }
        for Picked { job, .. } in rest {
            self.count_move(&job.id, job.priority, JobState::Ready, JobState::Running);
        }
        let counters = &mut self.queue.counters;
        if !is_started {
            counters.turn += rest.len() as u64;
            counters.ungrouped_turn = counters.turn;
        }
        Ok(())
    }

    /// Stores the claim and puts it under its owner's lease.
    fn record_claim(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
        token: Token,
        picked: &[Picked],
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
        let ids: Vec<_> = picked.iter().map(|picked| picked.job.id.as_str()).collect();
        self.db.run(
            "INSERT INTO claim_ids (queue, number, ids) VALUES (?1, ?2, ?3)",
            params![key, token.number, ids.join("\n")],
        )?;
        let mut jobs = picked.iter().map(|picked| &picked.job);
        let suspect = jobs.find(|job| job.expiries >= SUSPECT_AFTER);
        self.put_under_lease(request, lease, token, suspect)
    }

    /// Puts a claim under its owner's lease, which records a boot's latest claim and latest suspect.
    fn put_under_lease(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
        token: Token,
        suspect: Option<&ClaimedJob>,
    ) -> TxResult<Timestamp> {
        let last = match &request.claimer {
            Claimer::Worker { seq, .. } => Some((seq, token.number, token.nonce)),
            Claimer::Single { .. } => None,
        };
        let length_ms = as_ms(request.lease.get());
        let until = self.now_ms() + length_ms;
        let until = lease.map_or(until, |lease| lease.until.max(until));
        // Not one statement with ON CONFLICT and RETURNING, for which SQLite creates a temporary table.
        let sql = match lease {
            None => {
                "INSERT INTO lease (queue, owner, until, length_ms, last_seq, last_number, last_nonce,
                                    suspect_id, suspect_number)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            }
            Some(_) => {
                "UPDATE lease SET until = ?3, length_ms = ?4, last_seq = ?5, last_number = ?6,
                                  last_nonce = ?7, suspect_id = ifnull(?8, suspect_id),
                                  suspect_number = ifnull(?9, suspect_number)
                 WHERE queue = ?1 AND owner = ?2"
            }
        };
        self.db.run(
            sql,
            params![
                self.queue.key,
                request.claimer.owner(token).as_str(),
                until,
                length_ms,
                last.map(|(seq, _, _)| seq),
                last.map(|(_, number, _)| number),
                last.map(|(_, _, nonce)| nonce),
                suspect.map(|job| job.id.as_str()),
                suspect.map(|_| token.number),
            ],
        )?;
        Ok(Timestamp::from_ms(until))
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
