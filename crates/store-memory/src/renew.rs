//! renew and progress.

use std::time::Duration;

use windlass_core::limits::PAGE;
use windlass_core::store::{Fraction, LeaseStatus, Owner, Progress, Renewed, Requeue};
use windlass_core::{JobId, JobLease, OutcomeStatus, Renewal, Token};

use crate::queue::Queue;

impl Queue {
    pub(crate) fn renew(&mut self, renewal: &Renewal, length: Duration) -> Renewed {
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
    ) -> Renewed {
        let Some(until) = self.extend(owner, length) else {
            return Renewed::lost(tokens);
        };
        self.requeue_unknown(owner, tokens, settled);
        let is_lost = |token: &Token| !self.is_intact(*token, owner);
        let is_owned = |token: Token| {
            let claim = self.claims.get(&token);
            claim.is_some_and(|claim| claim.owner == *owner)
        };
        Renewed {
            until: Some(until),
            lost: tokens.iter().copied().filter(is_lost).collect(),
            cancel: self.cancel_requested(is_owned),
            unreached: None,
        }
    }

    fn renew_single(&mut self, token: Token, length: Duration) -> Renewed {
        let lost = Renewed::lost(&[token]);
        let Some(claim) = self.claims.get(&token) else {
            return lost;
        };
        let (owner, is_open) = (claim.owner.clone(), claim.finished_at.is_none());
        if !self.is_intact(token, &owner) {
            return lost;
        }
        if !is_open {
            return Renewed::default();
        }
        let Some(until) = self.extend(&owner, length) else {
            return lost;
        };
        Renewed {
            until: Some(until),
            cancel: self.cancel_requested(|job_token| job_token == token),
            ..Renewed::default()
        }
    }

    /// Requeues the jobs of claims whose reply the worker never received. At the front, the newest
    /// claim goes first, so that the jobs end up in claim order; at the back, the oldest.
    fn requeue_unknown(&mut self, owner: &Owner, known: &[Token], settled: u64) {
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
        if self.settings.requeue == Requeue::Front {
            unknown.reverse();
        }
        let mut requeued = 0;
        for token in unknown {
            if requeued >= PAGE {
                break;
            }
            let running = self.running_jobs(token);
            requeued += running.len();
            self.requeue(running);
        }
        self.prune_after();
    }

    /// Whether the claim belongs to this owner, is open or still remembered, and lost no job.
    fn is_intact(&self, token: Token, owner: &Owner) -> bool {
        self.claims.get(&token).is_some_and(|claim| {
            claim.owner == *owner
                && !claim.is_forgotten(self.now)
                && !claim
                    .left
                    .values()
                    .any(|status| *status == OutcomeStatus::LeaseLost)
        })
    }

    fn cancel_requested(&self, is_mine: impl Fn(Token) -> bool) -> Vec<JobId> {
        self.jobs
            .values()
            .filter(|job| job.is_cancel_requested && job.token.is_some_and(&is_mine))
            .map(|job| job.id.clone())
            .collect()
    }

    pub(crate) fn progress(
        &mut self,
        lease: &JobLease,
        fraction: Fraction,
        message: Option<String>,
    ) -> LeaseStatus {
        if self.leased(&lease.id, lease.token).is_none() {
            return LeaseStatus::Lost;
        }
        let at = self.now.ms();
        self.job(&lease.id).progress = Some(Progress {
            fraction,
            message,
            at,
        });
        self.mark_changed();
        LeaseStatus::Valid
    }
}
