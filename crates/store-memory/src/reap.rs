//! Reclaims jobs from expired leases, and from workers that left or were declared dead.

use windlass_core::limits::{PAGE, REAP_SCAN_MAX};
use windlass_core::store::{AttemptEnd, Owner, Reason, Requeue};
use windlass_core::{BootId, JobId, JobState, OutcomeStatus, Timestamp, Token};

use crate::queue::{ClaimRecord, Queue};

/// Why a job is reclaimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReclaimReason {
    /// The lease expired or the worker was declared dead: counts as an expiry.
    Expired,
    /// The worker returned the job: not counted.
    Returned,
}

impl Queue {
    /// Reclaims up to `limit` jobs from expired leases, ordered by the end of the lease. Returns the
    /// number of jobs, and the number of leases removed.
    pub(crate) fn reap(&mut self, limit: usize) -> (u64, u64) {
        let (mut jobs, mut leases) = (0, 0);
        while jobs + leases < limit
            && let Some(owner) = self.first_expired()
        {
            jobs += self.reclaim(&owner, limit - jobs - leases, ReclaimReason::Expired);
            if self.leases.contains_key(&owner) {
                break;
            }
            leases += 1;
        }
        (jobs as u64, leases as u64)
    }

    fn first_expired(&self) -> Option<Owner> {
        let (until, owner) = self
            .leases
            .iter()
            .map(|(owner, lease)| (lease.until, owner))
            .min()?;
        (until <= self.now.ms()).then(|| owner.clone())
    }

    /// Reclaims all jobs of a worker, without limit: those under its lease, then those of single
    /// claims made for it.
    pub(crate) fn reclaim_all(&mut self, boot: &BootId, reason: ReclaimReason) -> u64 {
        let mut taken = 0;
        let mut owners = vec![Owner::boot(boot)];
        owners.extend(self.single_claims_of(boot));
        for owner in owners {
            while self.leases.contains_key(&owner) {
                taken += self.reclaim(&owner, PAGE, reason) as u64;
                self.prune_after();
                // Each page prunes as if it were a separate transaction.
                self.kept_in_transaction = 0;
            }
        }
        taken
    }

    /// The owners of single claims with running jobs of a worker, in the order they are reclaimed:
    /// newest first if jobs return to the front.
    fn single_claims_of(&self, boot: &BootId) -> Vec<Owner> {
        let is_of_worker = |token: Token, claim: &ClaimRecord| {
            let runs = |id| {
                let leased = self.leased(id, token);
                leased.is_some_and(|job| job.worker.as_ref() == Some(boot))
            };
            claim.owner == Owner::token(token) && claim.ids.iter().any(runs)
        };
        let open = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.finished_at.is_none());
        let mut owners: Vec<_> = open
            .filter(|(token, claim)| is_of_worker(**token, claim))
            .map(|(_, claim)| claim.owner.clone())
            .collect();
        if self.settings.requeue == Requeue::Front {
            owners.reverse();
        }
        owners
    }

    /// Reclaims up to `limit` jobs of a lease, and removes the lease when it has no more jobs.
    fn reclaim(&mut self, owner: &Owner, limit: usize, reason: ReclaimReason) -> usize {
        let Some(lease) = self.leases.get_mut(owner) else {
            return 0;
        };
        lease.until = Timestamp::default();
        self.mark_changed();
        let (mut jobs, is_complete) = self.page_of(owner, limit);
        let count = jobs.len();
        if reason == ReclaimReason::Expired {
            jobs.retain(|id| self.count_expiry(id));
            let is_rescued = |id: &&JobId| !self.jobs[*id].is_cancel_requested;
            self.total.rescued += jobs.iter().filter(is_rescued).count() as u64;
        }
        self.requeue(jobs);
        if is_complete {
            self.leases.remove(owner);
        }
        count
    }

    /// Up to `limit` running jobs of an owner, in claim order, and whether these are all.
    ///
    /// If jobs return to the front, the newest are taken first, so that after the last page they are
    /// in claim order.
    fn page_of(&self, owner: &Owner, limit: usize) -> (Vec<JobId>, bool) {
        let is_newest_first = self.settings.requeue == Requeue::Front;
        let open = |claim: &ClaimRecord| claim.owner == *owner && claim.finished_at.is_none();
        let mut claims: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, claim)| open(claim))
            .collect();
        if is_newest_first {
            claims.reverse();
        }
        let (mut pages, mut taken, mut scanned, mut is_complete) = (Vec::new(), 0, 0, true);
        for (token, claim) in claims {
            // Always take at least one job, so that reaping makes progress.
            if taken >= limit || (taken > 0 && scanned >= REAP_SCAN_MAX) {
                is_complete = false;
                break;
            }
            scanned += claim.ids.len();
            let mut jobs = self.running_jobs(*token);
            let room = limit - taken;
            if jobs.len() > room {
                is_complete = false;
                if is_newest_first {
                    jobs.drain(..jobs.len() - room);
                }
                jobs.truncate(room);
            }
            taken += jobs.len();
            pages.push(jobs);
        }
        if is_newest_first {
            pages.reverse();
        }
        (pages.concat(), is_complete)
    }

    /// Counts an expiry. Returns false if the job is poison and now dead.
    ///
    /// Only a job that was alone in its claim can be poison. A job that was never accepted did not
    /// run, and is not counted.
    fn count_expiry(&mut self, id: &JobId) -> bool {
        let poison_after = self.settings.poison_after;
        let job = self.job(id);
        if job.accepted_at.is_none() || job.is_cancel_requested {
            return true;
        }
        job.expiries += 1;
        let (expiries, token) = (job.expiries, job.token);
        self.record_attempt(id, AttemptEnd::Expired, None);
        let claim = token.and_then(|token| self.claims.get(&token));
        let was_alone = claim.is_some_and(|claim| claim.ids.len() == 1);
        if was_alone && expiries >= poison_after {
            self.leave_claim(id, OutcomeStatus::LeaseLost);
            self.mark_dead(id, Reason::Poison);
            return false;
        }
        true
    }

    /// Returns running jobs to their lanes without counting the attempt. Jobs whose cancellation was
    /// requested are cancelled.
    pub(crate) fn requeue(&mut self, jobs: Vec<JobId>) {
        let mut back = Vec::new();
        for id in jobs {
            let is_cancel_requested = self.jobs[&id].is_cancel_requested;
            self.leave_claim(&id, OutcomeStatus::LeaseLost);
            if is_cancel_requested {
                self.mark_cancelled(&id);
            } else {
                back.push(id);
            }
        }
        self.requeue_in_order(back);
    }

    /// The running jobs of a claim, in claim order.
    pub(crate) fn running_jobs(&self, token: Token) -> Vec<JobId> {
        let is_running = |id: &&JobId| {
            let leased = self.leased(id, token);
            leased.is_some_and(|job| job.state == JobState::Running)
        };
        let claim = self.claims.get(&token);
        let ids = claim.map_or(&[][..], |claim| &claim.ids);
        ids.iter().filter(is_running).cloned().collect()
    }
}
