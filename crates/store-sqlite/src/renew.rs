//! renew: extends a lease, requeues claims whose reply was lost, and reports jobs to stop.

use std::time::Duration;

use rusqlite::{ToSql, params};
use windlass_core::limits::{CLAIM_TOMBSTONE, PAGE};
use windlass_core::store::{Fraction, LeaseStatus, Owner, Renewed, Requeue};
use windlass_core::time::as_ms;
use windlass_core::{JobId, JobLease, OutcomeStatus, Renewal, Token};

use crate::error::TxResult;
use crate::progress;
use crate::reap::ClaimRow;
use crate::row;
use crate::sql::Sql;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    pub(crate) fn renew(&mut self, renewal: &Renewal, length: Duration) -> TxResult<Renewed> {
        match renewal {
            Renewal::Worker {
                boot,
                tokens,
                settled,
            } => self.renew_worker(&Owner::boot(boot), tokens, *settled, length),
            Renewal::Single { token } => self.renew_single(*token, length),
        }
    }

    fn renew_worker(
        &mut self,
        owner: &Owner,
        tokens: &[Token],
        settled: u64,
        length: Duration,
    ) -> TxResult<Renewed> {
        let Some(until) = self.extend(owner, length)? else {
            return Ok(Renewed::lost(tokens));
        };
        self.requeue_unknown_claims(owner, tokens, settled)?;
        let mut lost = Vec::new();
        for token in tokens {
            if !self.is_intact(*token, owner)? {
                lost.push(*token);
            }
        }
        let cancel = self.asked_to_stop("c.owner = ?2", owner.as_str())?;
        Ok(Renewed {
            until: Some(until),
            lost,
            cancel,
            unreached: None,
        })
    }

    fn renew_single(&mut self, token: Token, length: Duration) -> TxResult<Renewed> {
        let lost = Renewed::lost(&[token]);
        let Some((owner, is_open)) = self.owner_of(token)? else {
            return Ok(lost);
        };
        if !self.is_intact(token, &owner)? {
            return Ok(lost);
        }
        if !is_open {
            return Ok(Renewed::default());
        }
        let Some(until) = self.extend(&owner, length)? else {
            return Ok(lost);
        };
        let cancel = self.asked_to_stop("c.number = ?2", token.number)?;
        Ok(Renewed {
            until: Some(until),
            cancel,
            ..Renewed::default()
        })
    }

    /// Requeues the jobs of claims whose reply never reached the worker: at the front newest claim
    /// first, so that they end up in claim order; at the back oldest first.
    fn requeue_unknown_claims(
        &mut self,
        owner: &Owner,
        known: &[Token],
        settled: u64,
    ) -> TxResult<()> {
        let mut open = self.open_claims_of(owner)?;
        if self.queue.settings.requeue == Requeue::Front {
            open.reverse();
        }
        let is_unknown = |claim: &&ClaimRow| claim.seq <= settled && !known.contains(&claim.token);
        let mut requeued = 0;
        for claim in open.iter().filter(is_unknown) {
            if requeued >= PAGE {
                break;
            }
            let jobs = self.leased_jobs(claim)?;
            requeued += jobs.len();
            self.requeue_leased(jobs)?;
        }
        self.update_claims()?;
        self.prune_after_finish()
    }

    /// Whether the owner's claim is open or just finished, with no job reclaimed from it.
    fn is_intact(&self, token: Token, owner: &Owner) -> TxResult<bool> {
        self.db.has(
            "SELECT 1 FROM claim c
             WHERE queue = ?1 AND number = ?2 AND nonce = ?3 AND owner = ?4
               AND ifnull(finished_at + ?5 > ?6, 1)
               AND NOT EXISTS (SELECT 1 FROM departure d
                   WHERE d.queue = c.queue AND d.number = c.number AND d.how = ?7)",
            params![
                self.queue.key,
                row::sql_number(token),
                token.nonce,
                owner.as_str(),
                as_ms(CLAIM_TOMBSTONE),
                self.now_ms(),
                OutcomeStatus::LeaseLost.as_str(),
            ],
        )
    }

    fn asked_to_stop(&self, claims: &str, value: impl ToSql) -> TxResult<Vec<JobId>> {
        let sql = format!(
            "SELECT j.id FROM job j JOIN claim c ON c.queue = j.queue AND c.number = j.token_number
             WHERE j.queue = ?1 AND j.cancel_requested = 1 AND {claims} ORDER BY j.id"
        );
        self.db.rows(&sql, params![self.queue.key, value], |row| {
            row::read_id(row, 0)
        })
    }

    pub(crate) fn progress(
        &mut self,
        lease: &JobLease,
        fraction: Fraction,
        message: Option<&str>,
    ) -> TxResult<LeaseStatus> {
        let Some(job) = self.leased(lease)? else {
            return Ok(LeaseStatus::Lost);
        };
        let progress = progress::write(fraction.get(), self.now_ms(), message);
        let sql = "UPDATE job SET progress = ?2 WHERE key = ?1";
        self.db.run(sql, params![job.key, progress])?;
        self.changed();
        Ok(LeaseStatus::Valid)
    }
}
