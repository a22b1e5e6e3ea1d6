//! claim: promote what is due, reap what expired, then take over the priorities in turn.

use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use windlass_core::limits::{PAGE, SUSPECT_AFTER};
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimRequest, ClaimedJob, Claimer, JobLease, JobState, LeaseStatus, Mode, Owner,
    Timestamp, Token,
};

use crate::fault::Db;
use crate::row::{self, Brief, token_of};
use crate::step::Step;
use crate::take::Taken;

/// A lease as a claim looks at it.
#[derive(Debug)]
pub(crate) struct LeaseRow {
    is_doomed: bool,
    last: Option<(u64, Token)>,
    /// The latest suspect the boot took: its id and the number of its token.
    pub(crate) suspect: Option<(String, u64)>,
}

impl Step<'_> {
    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> Db<Option<Claim>> {
        let lease = self.lease_of(&request.claimer)?;
        if let Some((last_seq, token)) = lease.and_then(|lease| lease.last)
            && request.claimer.seq() <= last_seq
        {
            let is_latest = request.claimer.seq() == last_seq;
            return if is_latest {
                self.claim_again(request, token)
            } else {
                Ok(None)
            };
        }
        self.promote_due(PAGE)?;
        self.reap(PAGE)?;
        // The reap may have taken this boot's own lease.
        let lease = self.lease_of(&request.claimer)?;
        let may_claim =
            !self.queue.is_paused && lease.as_ref().is_none_or(|lease| !lease.is_doomed);
        let taken = if may_claim {
            self.take(request, lease.as_ref())?
        } else {
            Vec::new()
        };
        let claim = if taken.is_empty() {
            None
        } else {
            Some(self.hand_out(request, taken)?)
        };
        self.prune(PAGE)?;
        Ok(claim)
    }

    fn lease_of(&self, claimer: &Claimer) -> Db<Option<LeaseRow>> {
        let Claimer::Worker { boot, .. } = claimer else {
            return Ok(None);
        };
        let mut statement = self.db.prepare_cached(
            "SELECT until, last_seq, last_number, last_nonce, suspect_id, suspect_number
             FROM lease WHERE queue = ?1 AND owner = ?2",
        )?;
        let found =
            statement.query_row(params![self.queue.key, Owner::boot(boot).as_str()], |row| {
                let last_seq: Option<u64> = row.get(1)?;
                let suspect_id: Option<String> = row.get(4)?;
                Ok(LeaseRow {
                    is_doomed: row.get::<_, u64>(0)? == 0,
                    last: last_seq.zip(token_of(row.get(2)?, row.get(3)?)),
                    suspect: suspect_id.zip(row.get(5)?),
                })
            });
        Ok(found.optional()?)
    }

    /// The latest claim of a boot once more: what of it is still held.
    fn claim_again(&mut self, request: &ClaimRequest, token: Token) -> Db<Option<Claim>> {
        let mut jobs = Vec::new();
        for id in self.claimed_ids(token.number)? {
            if let Some(job) = self.held(&JobLease::new(id, token))? {
                jobs.push(job);
            }
        }
        if jobs.is_empty() {
            return Ok(None);
        }
        let until = self.extend(&request.claimer.owner(token), request.lease)?;
        let jobs = self.claimed(&jobs)?;
        Ok(until.map(|until| Claim { token, until, jobs }))
    }

    fn hand_out(&mut self, request: &ClaimRequest, taken: Vec<Taken>) -> Db<Claim> {
        let token = Token::next(self.queue.last_token, self.now.us, request.nonce);
        self.queue.last_token = token.number;
        let (taken, jobs): (Vec<Brief>, Vec<ClaimedJob>) = taken
            .into_iter()
            .map(|taken| (taken.brief, taken.job))
            .unzip();
        self.start(request, token, &taken)?;
        let until = if request.mode == Mode::AtMostOnce {
            for job in &taken {
                let job = Brief {
                    state: JobState::Running,
                    token: None,
                    ..job.clone()
                };
                self.succeed(&job, None)?;
            }
            // Remembered without its jobs: a repeat of the call must not finish further ones.
            if matches!(request.claimer, Claimer::Worker { .. }) {
                self.lease_to(request, token)?;
            }
            self.now.ms()
        } else {
            self.hold(request, token, &taken)?
        };
        Ok(Claim { token, until, jobs })
    }

    /// Marks jobs as running under a token: one statement for each lane, since what was taken
    /// from a lane is all that stands up to the last of it.
    fn start(&mut self, request: &ClaimRequest, token: Token, taken: &[Brief]) -> Db<()> {
        let started_at = token.issued_at().as_ms();
        let accepted_at = (request.mode != Mode::Dispatch).then_some(started_at);
        let worker = request.claimer.worker().map(|boot| boot.as_str());
        let mut statement = self.db.prepare_cached(
            "UPDATE job SET state = 2, token_number = ?3, token_nonce = ?4, worker = ?5,
                            started_at = ?6, accepted_at = ?7
             WHERE queue = ?1 AND state = 1 AND priority = ?8 AND lane = ?9
               AND position <= (SELECT position FROM job WHERE key = ?2)",
        )?;
        for lane in taken.chunk_by(|one, next| one.priority == next.priority) {
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
        for job in taken {
            self.moved(job, JobState::Running);
        }
        Ok(())
    }

    /// Writes down the claim and puts it under its owner's lease.
    fn hold(&mut self, request: &ClaimRequest, token: Token, taken: &[Brief]) -> Db<Timestamp> {
        let owner = request.claimer.owner(token);
        let key = self.queue.key;
        self.db
            .prepare_cached(
                "INSERT INTO claim (queue, number, nonce, owner, seq, size, remaining)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            )?
            .execute(params![
                key,
                token.number,
                token.nonce,
                owner.as_str(),
                request.claimer.seq(),
                taken.len()
            ])?;
        let ids: Vec<_> = taken.iter().map(|job| job.id.as_str()).collect();
        self.db
            .prepare_cached("INSERT INTO claim_ids (queue, number, ids) VALUES (?1, ?2, ?3)")?
            .execute(params![key, token.number, ids.join("\n")])?;
        let until = self.lease_to(request, token)?;
        if let Some(suspect) = taken.iter().find(|job| job.expiries >= SUSPECT_AFTER) {
            self.db
                .prepare_cached(
                    "UPDATE lease SET suspect_id = ?3, suspect_number = ?4
                     WHERE queue = ?1 AND owner = ?2",
                )?
                .execute(params![
                    key,
                    owner.as_str(),
                    suspect.id.as_str(),
                    token.number
                ])?;
        }
        Ok(until)
    }

    /// Puts a claim under its owner's lease; a boot's latest claim is remembered there.
    fn lease_to(&mut self, request: &ClaimRequest, token: Token) -> Db<Timestamp> {
        let owner = request.claimer.owner(token);
        let key = self.queue.key;
        self.db
            .prepare_cached(
                "INSERT INTO lease (queue, owner, until, length_ms) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (queue, owner) DO NOTHING",
            )?
            .execute(params![
                key,
                owner.as_str(),
                self.now_ms(),
                as_ms(request.lease)
            ])?;
        if let Claimer::Worker { seq, .. } = &request.claimer {
            self.db
                .prepare_cached(
                    "UPDATE lease SET last_seq = ?3, last_number = ?4, last_nonce = ?5
                     WHERE queue = ?1 AND owner = ?2",
                )?
                .execute(params![key, owner.as_str(), seq, token.number, token.nonce])?;
        }
        Ok(self.extend(&owner, request.lease)?.unwrap_or_default())
    }

    /// Moves the end of a lease, never back; a lease that is being reaped stays lost.
    pub(crate) fn extend(&mut self, owner: &Owner, length: Duration) -> Db<Option<Timestamp>> {
        let until: Option<u64> = self
            .db
            .prepare_cached(
                "UPDATE lease SET until = max(until, ?3 + ?4), length_ms = ?4
                 WHERE queue = ?1 AND owner = ?2 AND until > 0 RETURNING until",
            )?
            .query_row(
                params![self.queue.key, owner.as_str(), self.now_ms(), as_ms(length)],
                |row| row.get(0),
            )
            .optional()?;
        if until.is_some() {
            self.changed();
        }
        Ok(until.map(Timestamp::from_ms))
    }

    pub(crate) fn accept(&mut self, hold: &JobLease, length: Duration) -> Db<LeaseStatus> {
        let Some(job) = self.held(hold)? else {
            return Ok(LeaseStatus::Lost);
        };
        let Some((owner, _)) = self.owner_of(hold.token)? else {
            return Ok(LeaseStatus::Lost);
        };
        if self.extend(&owner, length)?.is_none() {
            return Ok(LeaseStatus::Lost);
        }
        self.db
            .prepare_cached("UPDATE job SET accepted_at = ifnull(accepted_at, ?2) WHERE key = ?1")?
            .execute(params![job.key, self.now_ms()])?;
        Ok(LeaseStatus::Valid)
    }

    /// The owner of the lease a stored claim is under, and whether it is open.
    pub(crate) fn owner_of(&self, token: Token) -> Db<Option<(Owner, bool)>> {
        let mut statement = self.db.prepare_cached(
            "SELECT owner, finished_at IS NULL FROM claim
             WHERE queue = ?1 AND number = ?2 AND nonce = ?3",
        )?;
        let params = params![self.queue.key, row::sql_number(token), token.nonce];
        let found = statement.query_row(params, |row| {
            Ok((Owner::from_stored(row.get(0)?), row.get(1)?))
        });
        Ok(found.optional()?)
    }

    /// Jobs as a worker gets them, payloads included.
    fn claimed(&self, jobs: &[Brief]) -> Db<Vec<ClaimedJob>> {
        let mut claimed = Vec::with_capacity(jobs.len());
        for brief in jobs {
            let whole = Taken::select(self, "key = ?1", [brief.key])?;
            claimed.extend(whole.into_iter().map(|taken| taken.job));
        }
        Ok(claimed)
    }
}
