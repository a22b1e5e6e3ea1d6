//! Reclaims jobs from expired leases, and from workers that left or were failed.

use rusqlite::{Params, params};
use windlass_core::limits::{PAGE, REAP_SCAN_MAX};
use windlass_core::store::{AttemptEnd, Owner, Reason, Requeue};
use windlass_core::{BootId, JobLease, OutcomeStatus, Token};

use crate::error::TxResult;
use crate::row::{JobMeta, sql_number};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Why a job is reclaimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReclaimReason {
    /// Its worker was lost: counts as an expiry.
    Expired,
    /// Its worker gave it up: not counted.
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

/// The table `claim`, read by owner. Without a hint, SQLite walks all claims of the queue by primary key, also
/// finished ones.
const BY_OWNER: &str = "claim INDEXED BY claim_open";

impl QueueTx<'_> {
    /// The open claims of an owner, oldest first.
    pub(crate) fn open_claims_of(&self, owner: &Owner) -> TxResult<Vec<ClaimRow>> {
        let condition = "owner = ?2 ORDER BY number";
        self.open_claims(BY_OWNER, condition, params![self.queue.key, owner.as_str()])
    }

    /// The open claims of this queue that meet a condition on the table `claim`, in its order. `table` may name
    /// the index to use.
    pub(crate) fn open_claims(
        &self,
        table: &str,
        condition: &str,
        params: impl Params,
    ) -> TxResult<Vec<ClaimRow>> {
        let sql = format!(
            "SELECT number, nonce, seq, size, remaining FROM {table}
             WHERE queue = ?1 AND finished_at IS NULL AND {condition}"
        );
        self.db.rows(&sql, params, |row| {
            Ok(ClaimRow {
                token: Token {
                    number: row.get(0)?,
                    nonce: row.get(1)?,
                },
                seq: row.get(2)?,
                size: row.get(3)?,
                remaining: row.get(4)?,
            })
        })
    }

    /// Reclaims up to `limit` jobs from expired leases, oldest lease first. Returns the number of
    /// jobs reclaimed and of leases ended.
    pub(crate) fn reap(&mut self, limit: usize) -> TxResult<(u64, u64)> {
        let (mut jobs, mut leases) = (0, 0);
        while jobs + leases < limit
            && let Some(owner) = self.first_expired()?
        {
            let (reclaimed, is_all) =
                self.reclaim(&owner, limit - jobs - leases, ReclaimReason::Expired)?;
            jobs += reclaimed;
            if !is_all {
                break;
            }
            leases += 1;
        }
        Ok((jobs as u64, leases as u64))
    }

    fn first_expired(&self) -> TxResult<Option<Owner>> {
        let owner: Option<String> = self.db.value(
            "SELECT owner FROM lease WHERE queue = ?1 AND until <= ?2 ORDER BY until, owner LIMIT 1",
            params![self.queue.key, self.now_ms()],
        )?;
        Ok(owner.map(Owner::from_stored))
    }

    /// Reclaims all jobs of a worker: those under its lease, then those of single claims made for
    /// it.
    pub(crate) fn reclaim_all(&mut self, boot: &BootId, reason: ReclaimReason) -> TxResult<u64> {
        let mut reclaimed = 0;
        let mut owners = vec![Owner::boot(boot)];
        owners.extend(self.single_claims_of(boot)?);
        for owner in owners {
            let mut is_all = false;
            while !is_all {
                let page;
                (page, is_all) = self.reclaim(&owner, PAGE, reason)?;
                reclaimed += page as u64;
                self.prune_after_finish()?;
                // Each page prunes its share of old jobs, as a separate call would.
                self.kept = 0;
            }
        }
        Ok(reclaimed)
    }

    /// The owners of single claims that hold jobs for a worker, in the order to reclaim them:
    /// newest first if jobs return to the front.
    fn single_claims_of(&self, boot: &BootId) -> TxResult<Vec<Owner>> {
        // `;` follows `:` in ASCII, so this matches every owner that starts with `t:`.
        let singles = "owner > 't:' AND owner < 't;'";
        let mut claims = self.open_claims(BY_OWNER, singles, [self.queue.key])?;
        claims.sort_by_key(|claim| claim.token);
        if self.queue.settings.requeue == Requeue::Front {
            claims.reverse();
        }
        let mut owners = Vec::new();
        for claim in claims {
            if self.holds_for(claim.token, boot)? {
                owners.push(Owner::token(claim.token));
            }
        }
        Ok(owners)
    }

    fn holds_for(&self, token: Token, boot: &BootId) -> TxResult<bool> {
        let sql = "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2
                       AND token_number = ?3 AND token_nonce = ?4 AND worker = ?5";
        let (number, nonce) = (sql_number(token), token.nonce);
        for id in self.claimed_ids(token.number)? {
            let key = params![self.queue.key, id.as_str(), number, nonce, boot.as_str()];
            if self.db.has(sql, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reclaims up to `limit` jobs of a lease, and ends the lease with its last job. Returns the
    /// number of jobs, and whether those were all.
    ///
    /// If jobs return to the front, the newest are reclaimed first, so that page after page they
    /// end up in claim order.
    fn reclaim(
        &mut self,
        owner: &Owner,
        limit: usize,
        reason: ReclaimReason,
    ) -> TxResult<(usize, bool)> {
        self.update_claims()?;
        let sql = "UPDATE lease SET until = 0 WHERE queue = ?1 AND owner = ?2";
        if self.db.run(sql, params![self.queue.key, owner.as_str()])? == 0 {
            return Ok((0, true));
        }
        self.changed();
        let mut claims = self.open_claims_of(owner)?;
        let is_newest_first = self.queue.settings.requeue == Requeue::Front;
        if is_newest_first {
            claims.reverse();
        }
        let (mut reclaimed, mut scanned, mut is_all) = (0, 0, true);
        for claim in &claims {
            // Reclaim at least one job, however far the scan goes, so that every call makes progress.
            if reclaimed >= limit || (reclaimed > 0 && scanned >= REAP_SCAN_MAX as u64) {
                is_all = false;
                break;
            }
            scanned += claim.size;
            let mut held = self.leased_jobs(claim)?;
            if held.len() > limit - reclaimed {
                is_all = false;
                if is_newest_first {
                    held.drain(..held.len() - (limit - reclaimed));
                }
                held.truncate(limit - reclaimed);
            }
            reclaimed += held.len();
            let back = if reason == ReclaimReason::Expired {
                self.expire(claim, held)?
            } else {
                held
            };
            self.requeue_leased(back)?;
        }
        self.update_claims()?;
        if is_all {
            self.drop_lease(owner)?;
        }
        Ok((reclaimed, is_all))
    }

    /// Counts expiries; a job that has reached `poison_after` is dead.
    ///
    /// Only a job that was alone in its claim can be blamed, and a job that was never accepted has
    /// not run.
    fn expire(&mut self, claim: &ClaimRow, held: Vec<JobMeta>) -> TxResult<Vec<JobMeta>> {
        let mut surviving = Vec::with_capacity(held.len());
        for mut job in held {
            if job.accepted_at.is_some() && !job.cancel_requested {
                job.expiries += 1;
                self.record_attempt(&mut job, AttemptEnd::Expired, None)?;
                if claim.size == 1 && job.expiries >= self.queue.settings.poison_after {
                    self.leave_claim(&job, OutcomeStatus::LeaseLost)?;
                    self.end_dead(&job, Reason::Poison)?;
                    continue;
                }
            }
            self.queue.counters.total.rescued += u64::from(!job.cancel_requested);
            surviving.push(job);
        }
        Ok(surviving)
    }

    /// Puts leased jobs back into their lanes without counting the attempt; those asked to stop are
    /// cancelled.
    pub(crate) fn requeue_leased(&mut self, held: Vec<JobMeta>) -> TxResult<()> {
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

    /// The jobs still leased by a claim, in claim order.
    pub(crate) fn leased_jobs(&self, claim: &ClaimRow) -> TxResult<Vec<JobMeta>> {
        let mut held = Vec::new();
        for id in self.claimed_ids(claim.token.number)? {
            held.extend(self.leased(&JobLease::new(id, claim.token))?);
        }
        Ok(held)
    }
}
