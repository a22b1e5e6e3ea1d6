//! Taking jobs back: from leases that expired, and from workers that left or were failed.

use windlass_core::limits::{PAGE, REAP_LOOK_MAX};
use windlass_core::time::Now;
use windlass_core::{BootId, JobId, JobState, OutcomeStatus, Owner, Reason, Timestamp, Token};

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
            if self.leases.contains_key(&owner) {
                break;
            }
            leases += 1;
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

    /// Takes back all that a worker holds, however much it is: what is under its lease, then what
    /// single claims took for it.
    pub(crate) fn take_back_all(&mut self, now: Now, boot: &BootId, why: Why) -> u64 {
        let mut taken = 0;
        let mut owners = vec![Owner::boot(boot)];
        owners.extend(self.single_claims_of(boot));
        for owner in owners {
            while self.leases.contains_key(&owner) {
                taken += self.take_back(now, &owner, PAGE, why) as u64;
                self.prune_step(now);
                // Each page prunes after itself, as if it were a step of its own.
                self.kept_in_step = 0;
            }
        }
        taken
    }

    /// The leases of the single claims that hold jobs for a worker, in the order they are taken
    /// back in: those that go to the front newest first.
    fn single_claims_of(&self, boot: &BootId) -> Vec<Owner> {
        let is_its = |token: Token, claim: &ClaimRecord| {
            let runs = |id| {
                let held = self.held(id, token);
                held.is_some_and(|entry| entry.job.worker.as_ref() == Some(boot))
            };
            claim.owner == Owner::token(token) && claim.ids.iter().any(runs)
        };
        let open = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.finished_at.is_none());
        let mut owners: Vec<_> = open
            .filter(|(token, claim)| is_its(**token, claim))
            .map(|(_, claim)| claim.owner.clone())
            .collect();
        if self.requeue_end() == End::Front {
            owners.reverse();
        }
        owners
    }

    /// Takes back up to `limit` jobs of a lease; the lease ends when it holds nothing more.
    fn take_back(&mut self, now: Now, owner: &Owner, limit: usize, why: Why) -> usize {
        let Some(lease) = self.leases.get_mut(owner) else {
            return 0;
        };
        lease.until = Timestamp::default();
        self.changed();
        let (mut held, is_whole) = self.page_of(owner, limit);
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

    /// Up to `limit` jobs an owner holds, in claim order, and whether these are all.
    ///
    /// Where jobs go to the front the newest are taken, so that page after page they end up in the
    /// order they were claimed in.
    fn page_of(&self, owner: &Owner, limit: usize) -> (Vec<JobId>, bool) {
        let is_newest_first = self.requeue_end() == End::Front;
        let open = |claim: &ClaimRecord| claim.owner == *owner && claim.finished_at.is_none();
        let mut claims: Vec<_> = self
            .claims
            .iter()
            .filter(|(_, claim)| open(claim))
            .collect();
        if is_newest_first {
            claims.reverse();
        }
        let (mut pages, mut taken, mut looked_at, mut is_whole) = (Vec::new(), 0, 0, true);
        for (token, claim) in claims {
            // Something is taken however far it is, so that the next step finds less.
            if taken >= limit || (taken > 0 && looked_at >= REAP_LOOK_MAX) {
                is_whole = false;
                break;
            }
            looked_at += claim.ids.len();
            let mut held = self.held_by(|other, _| other == *token);
            let room = limit - taken;
            if held.len() > room {
                is_whole = false;
                if is_newest_first {
                    held.drain(..held.len() - room);
                }
                held.truncate(room);
            }
            taken += held.len();
            pages.push(held);
        }
        if is_newest_first {
            pages.reverse();
        }
        (pages.concat(), is_whole)
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
            self.leave_claim(id, OutcomeStatus::LeaseLost, now.ms());
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
                self.leave_claim(&id, OutcomeStatus::LeaseLost, now.ms());
                self.end_cancelled(&id, now);
            } else {
                self.leave_claim(&id, OutcomeStatus::LeaseLost, now.ms());
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
