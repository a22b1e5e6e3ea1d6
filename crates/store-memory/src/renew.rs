//! renew and progress.

use std::time::Duration;

use windlass_core::limits::PAGE;
use windlass_core::time::Now;
use windlass_core::{
    BootId, Fraction, JobId, JobLease, LeaseStatus, OutcomeStatus, Owner, Progress, Renewal,
    Renewed, Token,
};

use crate::queue::{LaneEnd, Queue};

impl Queue {
    pub(crate) fn renew(&mut self, now: Now, renewal: &Renewal, length: Duration) -> Renewed {
        match renewal {
            Renewal::Worker {
                boot,
                tokens,
                settled,
            } => self.renew_worker(now, boot, tokens, *settled, length),
            Renewal::Single { token } => self.renew_single(now, *token, length),
        }
    }

    fn renew_worker(
        &mut self,
        now: Now,
        boot: &BootId,
        tokens: &[Token],
        settled: u64,
        length: Duration,
    ) -> Renewed {
        let owner = Owner::boot(boot);
        let Some(until) = self.extend(&owner, now, length) else {
            return Renewed {
                lost: tokens.to_vec(),
                ..Renewed::default()
            };
        };
        self.requeue_unknown(now, &owner, tokens, settled);
        let is_lost = |token: &Token| !self.is_intact(*token, &owner, now);
        let lost = tokens.iter().copied().filter(is_lost).collect();
        let cancel = self.cancel_requested(|job_token| {
            self.claims
                .get(&job_token)
                .is_some_and(|claim| claim.owner == owner)
        });
        Renewed {
            until: Some(until),
            lost,
            cancel,
            unreached: None,
        }
    }

    fn renew_single(&mut self, now: Now, token: Token, length: Duration) -> Renewed {
        let owner = self.claims.get(&token).map(|claim| claim.owner.clone());
        let Some(owner) = owner.filter(|owner| self.is_intact(token, owner, now)) else {
            return Renewed {
                lost: vec![token],
                ..Renewed::default()
            };
        };
        let is_open = self
            .claims
            .get(&token)
            .is_some_and(|claim| claim.finished_at.is_none());
        if !is_open {
            return Renewed::default();
        }
        let Some(until) = self.extend(&owner, now, length) else {
            return Renewed {
                lost: vec![token],
                ..Renewed::default()
            };
        };
        let cancel = self.cancel_requested(|job_token| job_token == token);
        Renewed {
            until: Some(until),
            cancel,
            ..Renewed::default()
        }
    }

    /// Requeues the jobs of claims whose reply the worker never received. At the front, the newest
    /// claim goes first, so that the jobs end up in claim order; at the back, the oldest.
    fn requeue_unknown(&mut self, now: Now, owner: &Owner, known: &[Token], settled: u64) {
        let mut unknown: Vec<Token> = self
            .claims
            .iter()
            .filter(|(token, claim)| {
                claim.owner == *owner
                    && claim.finished_at.is_none()
                    && claim.seq <= settled
                    && !known.contains(token)
            })
            .map(|(token, _)| *token)
            .collect();
        if self.requeue_end() == LaneEnd::Front {
            unknown.reverse();
        }
        let mut requeued = 0;
        for token in unknown {
            if requeued >= PAGE {
                break;
            }
            let running = self.running_jobs(|claim_token, _| claim_token == token);
            requeued += running.len();
            self.requeue(now, running);
        }
        self.prune_after(now);
    }

    /// Whether the claim belongs to this owner, is open or still remembered, and lost no job.
    fn is_intact(&self, token: Token, owner: &Owner, now: Now) -> bool {
        self.claims.get(&token).is_some_and(|claim| {
            claim.owner == *owner
                && !claim.is_forgotten(now)
                && !claim
                    .left
                    .values()
                    .any(|status| *status == OutcomeStatus::LeaseLost)
        })
    }

    fn cancel_requested(&self, is_mine: impl Fn(Token) -> bool) -> Vec<JobId> {
        self.jobs
            .values()
            .filter(|entry| entry.job.is_cancel_requested)
            .filter(|entry| entry.job.token.is_some_and(&is_mine))
            .map(|entry| entry.job.id.clone())
            .collect()
    }

    pub(crate) fn progress(
        &mut self,
        now: Now,
        lease: &JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> LeaseStatus {
        if self.leased(&lease.id, lease.token).is_none() {
            return LeaseStatus::Lost;
        }
        if let Some(entry) = self.jobs.get_mut(&lease.id) {
            entry.job.progress = Some(Progress {
                fraction,
                message,
                at: now.ms(),
            });
        }
        self.mark_changed();
        LeaseStatus::Valid
    }
}
