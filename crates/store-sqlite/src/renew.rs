//! renew: hold on to what is known, give back what was lost on the way, learn what should stop.

use std::time::Duration;

use rusqlite::params;
use windlass_core::limits::{CLAIM_TOMBSTONE, PAGE};
use windlass_core::time::as_ms;
use windlass_core::{JobId, JobLease, LeaseStatus, OutcomeStatus, Owner, Renewal, Renewed, Token};

use crate::fault::Db;
use crate::hold::End;
use crate::reap::ClaimRow;
use crate::row::{self, Brief};
use crate::step::Step;

impl Step<'_> {
    pub(crate) fn renew(&mut self, renewal: &Renewal, length: Duration) -> Db<Renewed> {
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
    ) -> Db<Renewed> {
        let Some(until) = self.extend(owner, length)? else {
            return Ok(Renewed {
                until: None,
                lost: tokens.to_vec(),
                cancel: Vec::new(),
            });
        };
        self.give_back_unknown(owner, tokens, settled)?;
        let mut lost = Vec::new();
        for token in tokens {
            if !self.is_remembered_whole(*token, owner)? {
                lost.push(*token);
            }
        }
        let cancel = self.asked_to_stop("c.owner = ?2", owner.as_str())?;
        Ok(Renewed {
            until: Some(until),
            lost,
            cancel,
        })
    }

    fn renew_single(&mut self, token: Token, length: Duration) -> Db<Renewed> {
        let lost = Renewed {
            until: None,
            lost: vec![token],
            cancel: Vec::new(),
        };
        let Some((owner, is_open)) = self.owner_of(token)? else {
            return Ok(lost);
        };
        if !self.is_remembered_whole(token, &owner)? {
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
            lost: Vec::new(),
            cancel,
        })
    }

    /// Claims the worker never heard of: their jobs go back to the front, newest claim first so
    /// that they end up in claim order; at the back it is the oldest first.
    fn give_back_unknown(&mut self, owner: &Owner, known: &[Token], settled: u64) -> Db<()> {
        let mut open = ClaimRow::open_of(self, owner)?;
        if self.requeue_end() == End::Front {
            open.reverse();
        }
        let is_unknown = |claim: &&ClaimRow| claim.seq <= settled && !known.contains(&claim.token);
        let mut given_back = 0;
        for claim in open.iter().filter(is_unknown) {
            if given_back >= PAGE {
                break;
            }
            let held = self.held_of(claim)?;
            given_back += held.len();
            self.give_back(held)?;
        }
        self.settle_claims()?;
        self.prune_step()
    }

    /// A claim of this owner, open or just finished, of which nothing was taken back.
    fn is_remembered_whole(&self, token: Token, owner: &Owner) -> Db<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM claim c
             WHERE queue = ?1 AND number = ?2 AND nonce = ?3 AND owner = ?4
               AND ifnull(finished_at + ?5 > ?6, 1)
               AND NOT EXISTS (SELECT 1 FROM departure d
                   WHERE d.queue = c.queue AND d.number = c.number AND d.how = ?7)",
        )?;
        Ok(statement.exists(params![
            self.queue.key,
            row::sql_number(token),
            token.nonce,
            owner.as_str(),
            as_ms(CLAIM_TOMBSTONE),
            self.now_ms(),
            OutcomeStatus::LeaseLost.as_str(),
        ])?)
    }

    fn asked_to_stop(&self, whose: &str, value: impl rusqlite::ToSql) -> Db<Vec<JobId>> {
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT j.id FROM job j JOIN claim c ON c.queue = j.queue AND c.number = j.token_number
             WHERE j.queue = ?1 AND j.cancel_requested = 1 AND {whose} ORDER BY j.id LIMIT ?3"
        ))?;
        let rows = statement.query_map(params![self.queue.key, value, PAGE], |row| {
            row.get::<_, String>(0)
        })?;
        rows.map(|id| row::job_id(&id?)).collect()
    }

    pub(crate) fn progress(
        &mut self,
        hold: &JobLease,
        fraction: f64,
        message: Option<&str>,
    ) -> Db<LeaseStatus> {
        let Some(Brief { key, .. }) = self.held(hold)? else {
            return Ok(LeaseStatus::Lost);
        };
        self.db
            .prepare_cached("UPDATE job SET progress = ?2 WHERE key = ?1")?
            .execute(params![
                key,
                row::write_progress(fraction, self.now_ms(), message)
            ])?;
        self.changed();
        Ok(LeaseStatus::Valid)
    }
}
