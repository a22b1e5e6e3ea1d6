//! Taking jobs back: from leases that expired, and from workers that left or were failed.

use rusqlite::{OptionalExtension, params};
use windlass_core::limits::{PAGE, REAP_SCAN_MAX};
use windlass_core::{BootId, JobLease, OutcomeStatus, Owner, Reason, Token};

use crate::fault::Db;
use crate::hold::End;
use crate::row::{Brief, sql_number};
use crate::step::Step;

/// Why a job is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its holder was lost: an expiry is counted.
    Expired,
    /// Its holder gave it up: nothing is counted.
    GivenUp,
}

/// An open claim.
#[derive(Debug)]
pub(crate) struct ClaimRow {
    pub(crate) token: Token,
    pub(crate) seq: u64,
    size: u64,
    pub(crate) remaining: u64,
}

impl ClaimRow {
    /// The open claims of an owner, oldest first.
    pub(crate) fn open_of(step: &Step<'_>, owner: &Owner) -> Db<Vec<Self>> {
        let sql = "SELECT number, nonce, seq, size, remaining FROM claim
             WHERE queue = ?1 AND owner = ?2 AND finished_at IS NULL ORDER BY number";
        Self::select(step, sql, params![step.queue.key, owner.as_str()])
    }

    /// The open claims that are under leases of their own, oldest first.
    fn open_singles(step: &Step<'_>) -> Db<Vec<Self>> {
        // `;` comes after `:`, so this is every owner that begins with `t:`.
        let sql = "SELECT number, nonce, seq, size, remaining FROM claim
             WHERE queue = ?1 AND owner > 't:' AND owner < 't;' AND finished_at IS NULL";
        let mut claims = Self::select(step, sql, params![step.queue.key])?;
        claims.sort_by_key(|claim| claim.token);
        Ok(claims)
    }

    /// Up to `limit` open claims after a number.
    pub(crate) fn open_after(step: &Step<'_>, number: u64, limit: usize) -> Db<Vec<Self>> {
        let sql = "SELECT number, nonce, seq, size, remaining FROM claim
             WHERE queue = ?1 AND number > ?2 AND finished_at IS NULL ORDER BY number LIMIT ?3";
        Self::select(step, sql, params![step.queue.key, number, limit])
    }

    fn select(step: &Step<'_>, sql: &str, params: impl rusqlite::Params) -> Db<Vec<Self>> {
        let mut statement = step.db.prepare_cached(sql)?;
        let rows = statement.query_map(params, |row| {
            Ok(Self {
                token: Token {
                    number: row.get(0)?,
                    nonce: row.get(1)?,
                },
                seq: row.get(2)?,
                size: row.get(3)?,
                remaining: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Step<'_> {
    /// Takes back up to `limit` jobs from expired leases, the lease that ended first first; answers
    /// how many jobs, and how many leases ended with it.
    pub(crate) fn reap(&mut self, limit: usize) -> Db<(u64, u64)> {
        let (mut jobs, mut leases) = (0, 0);
        while jobs + leases < limit
            && let Some(owner) = self.first_expired()?
        {
            let (taken, is_whole) = self.take_back(&owner, limit - jobs - leases, Why::Expired)?;
            jobs += taken;
            if !is_whole {
                break;
            }
            leases += 1;
        }
        Ok((jobs as u64, leases as u64))
    }

    fn first_expired(&self) -> Db<Option<Owner>> {
        let mut statement = self.db.prepare_cached(
            "SELECT owner FROM lease WHERE queue = ?1 AND until <= ?2 ORDER BY until, owner LIMIT 1",
        )?;
        let params = params![self.queue.key, self.now_ms()];
        let owner: Option<String> = statement.query_row(params, |row| row.get(0)).optional()?;
        Ok(owner.map(Owner::from_stored))
    }

    /// Takes back all that a worker holds, however much it is: what is under its lease, then what
    /// single claims took for it.
    pub(crate) fn take_back_all(&mut self, boot: &BootId, why: Why) -> Db<u64> {
        let mut taken = 0;
        let mut owners = vec![Owner::boot(boot)];
        owners.extend(self.single_claims_of(boot)?);
        for owner in owners {
            let mut is_whole = false;
            while !is_whole {
                let page;
                (page, is_whole) = self.take_back(&owner, PAGE, why)?;
                taken += page as u64;
                self.prune_step()?;
                // Each page prunes after itself, as if it were a step of its own.
                self.kept = 0;
            }
        }
        Ok(taken)
    }

    /// The leases of the single claims that hold jobs for a worker, in the order they are taken
    /// back in: those that go to the front newest first.
    fn single_claims_of(&self, boot: &BootId) -> Db<Vec<Owner>> {
        let mut owners = Vec::new();
        for claim in ClaimRow::open_singles(self)? {
            if self.holds_for(claim.token, boot)? {
                owners.push(Owner::token(claim.token));
            }
        }
        if self.requeue_end() == End::Front {
            owners.reverse();
        }
        Ok(owners)
    }

    fn holds_for(&self, token: Token, boot: &BootId) -> Db<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2
                AND token_number = ?3 AND token_nonce = ?4 AND worker = ?5",
        )?;
        let (number, nonce) = (sql_number(token), token.nonce);
        for id in self.claimed_ids(token.number)? {
            let key = params![self.queue.key, id.as_str(), number, nonce, boot.as_str()];
            if statement.exists(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes back up to `limit` jobs of a lease; the lease ends when it holds nothing more.
    /// Answers how many, and whether that was all.
    ///
    /// Jobs that go to the front are taken newest first, so that page after page they end up in
    /// the order they were claimed in.
    fn take_back(&mut self, owner: &Owner, limit: usize, why: Why) -> Db<(usize, bool)> {
        self.settle_claims()?;
        let doomed = self
            .db
            .prepare_cached("UPDATE lease SET until = 0 WHERE queue = ?1 AND owner = ?2")?
            .execute(params![self.queue.key, owner.as_str()])?;
        if doomed == 0 {
            return Ok((0, true));
        }
        self.changed();
        let mut claims = ClaimRow::open_of(self, owner)?;
        let is_newest_first = self.requeue_end() == End::Front;
        if is_newest_first {
            claims.reverse();
        }
        let (mut taken, mut looked_at, mut is_whole) = (0, 0, true);
        for claim in &claims {
            // Something is taken however far it is, so that the next step finds less.
            if taken >= limit || (taken > 0 && looked_at >= REAP_SCAN_MAX as u64) {
                is_whole = false;
                break;
            }
            looked_at += claim.size;
            let mut held = self.held_of(claim)?;
            if held.len() > limit - taken {
                is_whole = false;
                if is_newest_first {
                    held.drain(..held.len() - (limit - taken));
                }
                held.truncate(limit - taken);
            }
            taken += held.len();
            let back = if why == Why::Expired {
                self.expire(claim, held)?
            } else {
                held
            };
            self.give_back(back)?;
        }
        self.settle_claims()?;
        if is_whole {
            self.drop_lease(owner)?;
        }
        Ok((taken, is_whole))
    }

    /// Counts expiries; a job that took its worker down once too often is dead.
    ///
    /// Only a job that was alone in its claim can be blamed, and one that was never accepted has
    /// not run at all.
    fn expire(&mut self, claim: &ClaimRow, held: Vec<Brief>) -> Db<Vec<Brief>> {
        let mut surviving = Vec::with_capacity(held.len());
        for mut job in held {
            if job.is_accepted && !job.cancel_requested {
                job.expiries += 1;
                if claim.size == 1 && job.expiries >= self.queue.settings.poison_after {
                    self.leave_claim(&job, OutcomeStatus::LeaseLost)?;
                    self.bury(&job, Reason::Poison, None)?;
                    continue;
                }
            }
            self.queue.figures.total.rescued += u64::from(!job.cancel_requested);
            surviving.push(job);
        }
        Ok(surviving)
    }

    /// Puts held jobs back into their lanes, attempt not counted; those asked to stop end.
    pub(crate) fn give_back(&mut self, held: Vec<Brief>) -> Db<()> {
        let mut back = Vec::with_capacity(held.len());
        for job in held {
            self.leave_claim(&job, OutcomeStatus::LeaseLost)?;
            if job.cancel_requested {
                self.end_cancelled(&job)?;
            } else {
                back.push(job);
            }
        }
        self.requeue_in_order(back)
    }

    /// The jobs a claim still holds, in claim order.
    pub(crate) fn held_of(&self, claim: &ClaimRow) -> Db<Vec<Brief>> {
        let mut held = Vec::new();
        for id in self.claimed_ids(claim.token.number)? {
            held.extend(self.held(&JobLease::new(id, claim.token))?);
        }
        Ok(held)
    }
}
