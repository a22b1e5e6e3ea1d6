//! What a worker holds in one queue: its claims, life by life.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::limits::{CLAIM_MAX, PAGE};
use windlass_core::{BootId, JobId, Renewal, Token};

use crate::boottime::BootTime;
use crate::run::{Fence, Run};

/// The claims of a worker in one queue. A worker that was forgotten goes on under a new boot id,
/// and finishes what it holds under the old one.
#[derive(Debug)]
pub(crate) struct Holdings {
    lives: Vec<Life>,
    /// A claim waits for jobs. It goes on to numbers of its own, so that nobody asks beside it.
    is_parked: bool,
}

/// What is held under one boot id.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) boot: BootId,
    pub(crate) fence: Arc<Fence>,
    seq: u64,
    settled: u64,
    /// Claims that were asked and are neither answered nor given up: their jobs, if any, are on
    /// their way, and no renewal may give them back.
    open: BTreeSet<u64>,
    unheard: Option<Unheard>,
    renew_at: BootTime,
    /// Somebody asked for a renewal after the latest was sent: its answer does not put it off.
    is_hurried: bool,
    claims: HashMap<Token, Held>,
}

/// What may be held in the store and is known here no more: renewals give it back.
#[derive(Debug, Clone, Copy)]
struct Unheard {
    /// The latest of its claims.
    number: u64,
    /// How many jobs it is at most: a renewal gives back a page of them, or all.
    jobs: usize,
    /// A renewal that names none of it is on its way.
    is_asked: bool,
}

/// What is left of one claim.
#[derive(Debug)]
struct Held {
    number: u64,
    left: usize,
    /// How many were dropped with no word to the store. It gives them back once the claim is named
    /// no more.
    dropped: usize,
    runs: Vec<Option<Arc<Run>>>,
}

impl Held {
    fn forget(&mut self, runs: &[Arc<Run>], is_told: bool) {
        for run in runs {
            let held = self.runs.get_mut(run.index);
            if held.is_some_and(|held| held.take().is_some()) {
                self.left -= 1;
                self.dropped += usize::from(!is_told);
            }
        }
    }
}

impl Life {
    fn new(boot: BootId) -> Self {
        Self {
            boot,
            fence: Arc::new(Fence::at(BootTime::now())),
            seq: 0,
            settled: 0,
            open: BTreeSet::new(),
            unheard: None,
            renew_at: BootTime::NEVER,
            is_hurried: false,
            claims: HashMap::new(),
        }
    }

    fn is_idle(&self) -> bool {
        self.claims.is_empty() && self.unheard.is_none()
    }

    /// A claim is answered, or given up. A parked one has grown since it was asked.
    fn close(&mut self, (asked, seq): (u64, u64)) {
        self.open.remove(&asked);
        self.seq = self.seq.max(seq);
        self.settled = self.settled.max(seq);
    }

    /// Up to which claim everything is known: later answers may overtake earlier ones.
    fn settled(&self) -> u64 {
        let known = self.open.first().map_or(u64::MAX, |open| open - 1);
        self.settled.min(known)
    }

    /// Whether something goes back only when an earlier claim is answered.
    fn is_kept_waiting(&self) -> bool {
        self.unheard
            .is_some_and(|unheard| unheard.number > self.settled())
    }

    /// Jobs may be held under a claim, or an earlier one, that this worker knows nothing of.
    fn leave_to_renewals(&mut self, number: u64, jobs: usize) {
        let earlier = self.unheard;
        self.unheard = Some(Unheard {
            number: earlier.map_or(number, |unheard| unheard.number.max(number)),
            jobs: earlier.map_or(jobs, |unheard| unheard.jobs + jobs),
            is_asked: false,
        });
    }

    fn hurry(&mut self) {
        self.renew_at = self.renew_at.min(BootTime::now());
        self.is_hurried = true;
    }

    fn runs(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.claims
            .values()
            .flat_map(|held| held.runs.iter().flatten())
    }
}

impl Holdings {
    pub(crate) fn new(boot: BootId) -> Self {
        Self {
            lives: vec![Life::new(boot)],
            is_parked: false,
        }
    }

    /// Goes on under a new boot id.
    pub(crate) fn reborn(&mut self, boot: BootId) {
        self.lives
            .retain(|life| !life.is_idle() || !life.open.is_empty());
        self.lives.push(Life::new(boot));
    }

    /// A claim is about to wait for jobs, or has come back from it.
    pub(crate) fn park(&mut self, is_parked: bool) {
        self.is_parked = is_parked;
    }

    /// Whether a claim waits for jobs.
    pub(crate) fn is_parked(&self) -> bool {
        self.is_parked
    }

    /// The next claim, unless one waits for jobs.
    pub(crate) fn next_claim_beside(&mut self) -> Option<(BootId, u64, Arc<Fence>)> {
        (!self.is_parked).then(|| self.next_claim())
    }

    /// The boot, the number and the fence of the next claim.
    pub(crate) fn next_claim(&mut self) -> (BootId, u64, Arc<Fence>) {
        let life = self.lives.last_mut().expect("there is always a life");
        life.seq += 1;
        life.open.insert(life.seq);
        (life.boot.clone(), life.seq, Arc::clone(&life.fence))
    }

    /// A claim was answered: its jobs, if any, are held from now on. True when there is something to
    /// renew that was not before.
    pub(crate) fn answered(
        &mut self,
        boot: &BootId,
        numbers: (u64, u64),
        held: Option<(Token, Vec<Arc<Run>>)>,
        renew_at: BootTime,
    ) -> bool {
        let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) else {
            return false;
        };
        let was_kept_waiting = life.is_kept_waiting();
        life.close(numbers);
        let was_idle = life.is_idle();
        if let Some((token, runs)) = held {
            let held = Held {
                number: numbers.1,
                left: runs.len(),
                dropped: 0,
                runs: runs.into_iter().map(Some).collect(),
            };
            life.claims.insert(token, held);
        }
        if was_idle {
            life.renew_at = renew_at;
            life.is_hurried = false;
        }
        if was_kept_waiting && !life.is_kept_waiting() {
            // What was given up had to wait for this answer.
            life.hurry();
            return true;
        }
        was_idle && !life.is_idle()
    }

    /// A claim was given up unanswered: the next renewal gives back what it may have been handed,
    /// which is `max` jobs at most.
    pub(crate) fn given_up(&mut self, boot: &BootId, numbers: (u64, u64), max: usize) {
        if let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) {
            life.close(numbers);
            life.leave_to_renewals(numbers.1, max.min(CLAIM_MAX));
            life.hurry();
        }
    }

    /// Jobs are no longer held: the store knows, or has said so.
    pub(crate) fn forget(&mut self, runs: &[Arc<Run>]) {
        self.let_go(runs, true);
    }

    /// Jobs are no longer held here, and the store was not told: renewals give them back. There is
    /// one within a third of the lease, since something was held until now.
    pub(crate) fn drop_untold(&mut self, runs: &[Arc<Run>]) {
        self.let_go(runs, false);
    }

    fn let_go(&mut self, runs: &[Arc<Run>], is_told: bool) {
        // Neighbours are mostly of one claim.
        for runs in runs.chunk_by(|one, next| one.token == next.token) {
            let Some(token) = runs.first().map(|run| run.token) else {
                continue;
            };
            for life in &mut self.lives {
                let Some(held) = life.claims.get_mut(&token) else {
                    continue;
                };
                held.forget(runs, is_told);
                if held.left == 0 {
                    let (number, dropped) = (held.number, held.dropped);
                    life.claims.remove(&token);
                    if dropped > 0 {
                        life.leave_to_renewals(number, dropped);
                    }
                }
            }
        }
    }

    /// Every job held.
    pub(crate) fn runs(&self) -> Vec<Arc<Run>> {
        self.lives.iter().flat_map(Life::runs).cloned().collect()
    }

    /// The jobs of some claims.
    pub(crate) fn of_tokens(&self, tokens: &[Token]) -> Vec<Arc<Run>> {
        let is_named = |run: &&Arc<Run>| tokens.contains(&run.token);
        self.lives
            .iter()
            .flat_map(Life::runs)
            .filter(is_named)
            .cloned()
            .collect()
    }

    /// The jobs with some ids.
    pub(crate) fn of_ids(&self, ids: &[JobId]) -> Vec<Arc<Run>> {
        let is_named = |run: &&Arc<Run>| ids.contains(&run.job.id);
        self.lives
            .iter()
            .flat_map(Life::runs)
            .filter(is_named)
            .cloned()
            .collect()
    }

    /// Drops the jobs whose lease can no longer be trusted. A claim that is answered before the store
    /// ends the lease makes it go on: a renewal gives them back, and not before their handlers had
    /// the margin to stop in.
    pub(crate) fn take_fenced(&mut self, now: BootTime, margin: Duration) -> Vec<Arc<Run>> {
        let mut fenced = Vec::new();
        for life in &mut self.lives {
            let fence = life.fence.time();
            if life.claims.is_empty() || fence > now {
                continue;
            }
            fenced.extend(life.runs().cloned());
            life.renew_at = fence.plus(margin);
            life.is_hurried = true;
        }
        self.drop_untold(&fenced);
        fenced
    }

    /// When the renewal loop has to look again; nothing while nothing is held.
    pub(crate) fn next_look(&self) -> Option<BootTime> {
        let busy = self.lives.iter().filter(|life| !life.is_idle());
        let renewal = busy.map(|life| life.renew_at).min();
        renewal.into_iter().chain(self.next_fence()).min()
    }

    /// When the first lease can no longer be trusted; nothing while no job is held.
    pub(crate) fn next_fence(&self) -> Option<BootTime> {
        let holding = self.lives.iter().filter(|life| !life.claims.is_empty());
        holding.map(|life| life.fence.time()).min()
    }

    /// The renewals that are due, and when each is due again should it fail.
    pub(crate) fn due(&mut self, now: BootTime, again_in: Duration) -> Vec<(Renewal, Arc<Fence>)> {
        self.lives
            .iter_mut()
            .filter(|life| !life.is_idle() && life.renew_at <= now)
            .map(|life| {
                life.renew_at = now.plus(again_in);
                life.is_hurried = false;
                let settled = life.settled();
                if let Some(unheard) = &mut life.unheard {
                    unheard.is_asked = unheard.number <= settled;
                }
                let renewal = Renewal::Worker {
                    boot: life.boot.clone(),
                    tokens: life.claims.keys().copied().collect(),
                    settled,
                };
                (renewal, Arc::clone(&life.fence))
            })
            .collect()
    }

    /// A renewal was answered; what it gave back is forgotten. The next is due at `renew_at`, or at
    /// once where it was asked for meanwhile or more has to go back than one renewal gives back.
    pub(crate) fn renewed(&mut self, boot: &BootId, is_held: bool, renew_at: BootTime) {
        let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) else {
            return;
        };
        if !life.is_hurried {
            life.renew_at = renew_at;
        }
        let Some(unheard) = life.unheard.as_mut().filter(|unheard| unheard.is_asked) else {
            return;
        };
        unheard.jobs = unheard.jobs.saturating_sub(PAGE);
        if unheard.jobs == 0 || !is_held {
            life.unheard = None;
        } else {
            life.hurry();
        }
    }

    /// Asks for a renewal now.
    pub(crate) fn hurry(&mut self) {
        for life in &mut self.lives {
            life.hurry();
        }
    }

    /// Every boot id that something may be held under.
    pub(crate) fn boots(&self) -> Vec<BootId> {
        self.lives.iter().map(|life| life.boot.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
