//! Taking jobs back: from leases that expired, and from workers that left or were failed.

use windlass_core::time::Now;
use windlass_core::{JobId, JobState, Owner, Reason, Settled, Timestamp, Token};

use crate::queue::{ClaimRecord, End, Queue};

/// Why a job is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// Its holder was lost: an expiry is counted.
    Expired,
    /// Its holder gave it up: nothing is counted.
    GivenUp,
}

impl Queue {
    /// Takes back up to `limit` jobs from expired leases, the lease that ended first first; answers
    /// how many jobs, and how many leases ended with it.
    pub(crate) fn reap(&mut self, now: Now, limit: usize) -> (u64, u64) {
        let (mut jobs, mut leases) = (0, 0);
        while jobs + leases < limit
            && let Some(owner) = self.first_expired(now)
        {
            jobs += self.take_back(now, &owner, limit - jobs - leases, Why::Expired);
            leases += usize::from(!self.leases.contains_key(&owner));
        }
        (jobs as u64, leases as u64)
    }

    fn first_expired(&self, now: Now) -> Option<Owner> {
        let (until, owner) = self
            .leases
            .iter()
            .map(|(owner, lease)| (lease.until, owner))
            .min()?;
        (until <= now.ms()).then(|| owner.clone())
    }

    /// Takes back all that an owner holds, however much it is.
    pub(crate) fn take_back_all(&mut self, now: Now, owner: &Owner, why: Why) -> u64 {
        let taken = self.take_back(now, owner, usize::MAX, why);
        self.prune_step(now);
        taken as u64
    }

    /// Takes back up to `limit` jobs of a lease; the lease ends when it holds nothing more.
    ///
    /// Jobs that go to the front are taken newest first, so that page after page they end up in
    /// the order they were claimed in.
    fn take_back(&mut self, now: Now, owner: &Owner, limit: usize, why: Why) -> usize {
        let Some(lease) = self.leases.get_mut(owner) else {
            return 0;
        };
        lease.until = Timestamp::default();
        self.changed();
        let mut held = self.held_by(|_, claim| claim.owner == *owner);
        let is_whole = held.len() <= limit;
        if !is_whole && self.requeue_end() == End::Front {
            held.drain(..held.len() - limit);
        }
        held.truncate(limit);
        let taken = held.len();
        if why == Why::Expired {
            held.retain(|id| self.survives_expiry(id, now));
            self.total.rescued +=
                held.iter().filter(|id| !self.is_asked_to_stop(id)).count() as u64;
        }
        self.give_back(now, held);
        if is_whole {
            self.leases.remove(owner);
        }
        taken
    }

    /// Counts an expiry; a job that took its worker down once too often is dead.
    ///
    /// Only a job that was alone in its claim can be blamed, and one that was never accepted
    /// has not run at all.
    fn survives_expiry(&mut self, id: &JobId, now: Now) -> bool {
        let poison_after = self.settings.poison_after;
        let Some(entry) = self.jobs.get_mut(id) else {
            return false;
        };
        if entry.job.accepted_at.is_none() || entry.job.is_cancel_requested {
            return true;
        }
        entry.job.expiries += 1;
        let expiries = entry.job.expiries;
        let claim = entry.job.token.and_then(|token| self.claims.get(&token));
        let was_alone = claim.is_some_and(|claim| claim.ids.len() == 1);
        if was_alone && expiries >= poison_after {
            self.leave_claim(id, Settled::Lost, now.ms());
            self.bury(id, now, Reason::Poison);
            return false;
        }
        true
    }

    fn is_asked_to_stop(&self, id: &JobId) -> bool {
        self.jobs
            .get(id)
            .is_some_and(|entry| entry.job.is_cancel_requested)
    }

    /// Puts held jobs back into their lanes, attempt not counted; those asked to stop end.
    pub(crate) fn give_back(&mut self, now: Now, held: Vec<JobId>) {
        let mut back = Vec::new();
        for id in held {
            if self.is_asked_to_stop(&id) {
                self.leave_claim(&id, Settled::Lost, now.ms());
                self.end_cancelled(&id, now);
            } else {
                self.leave_claim(&id, Settled::Lost, now.ms());
                back.push(id);
            }
        }
        self.requeue_in_order(back);
    }

    /// Running jobs of some claims, in claim order.
    pub(crate) fn held_by(&self, is_meant: impl Fn(Token, &ClaimRecord) -> bool) -> Vec<JobId> {
        self.claims
            .iter()
            .filter(|(token, claim)| claim.finished_at.is_none() && is_meant(**token, claim))
            .flat_map(|(token, claim)| {
                claim
                    .ids
                    .iter()
                    .filter(move |id| self.held(id, *token).is_some())
            })
            .filter(|id| {
                self.jobs
                    .get(*id)
                    .is_some_and(|e| e.job.state == JobState::Running)
            })
            .cloned()
            .collect()
    }
}
