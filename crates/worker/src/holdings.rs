//! What a worker holds in one queue: its claims, life by life.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

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
    /// The latest claim that was given up: something may be held under it, or under an earlier one,
    /// that a renewal gives back.
    unheard: Option<u64>,
    renew_at: BootTime,
    claims: HashMap<Token, Held>,
}

/// What is left of one claim.
#[derive(Debug)]
struct Held {
    left: usize,
    runs: Vec<Option<Arc<Run>>>,
}

impl Held {
    fn forget(&mut self, runs: &[Arc<Run>]) {
        for run in runs {
            let held = self.runs.get_mut(run.index);
            if held.is_some_and(|held| held.take().is_some()) {
                self.left -= 1;
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
        life.close(numbers);
        let was_idle = life.is_idle();
        if let Some((token, runs)) = held {
            let left = runs.len();
            let runs = runs.into_iter().map(Some).collect();
            life.claims.insert(token, Held { left, runs });
        }
        if was_idle {
            life.renew_at = renew_at;
        }
        if life
            .unheard
            .is_some_and(|unheard| unheard <= life.settled())
        {
            // What was given up had to wait for this answer.
            life.renew_at = BootTime::now();
            return true;
        }
        was_idle && !life.is_idle()
    }

    /// A claim was given up unanswered: the next renewal gives back what it may have been handed.
    pub(crate) fn given_up(&mut self, boot: &BootId, numbers: (u64, u64)) {
        if let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) {
            life.close(numbers);
            life.unheard = life.unheard.max(Some(numbers.1));
            life.renew_at = BootTime::now();
        }
    }

    /// Jobs are no longer held.
    pub(crate) fn forget(&mut self, runs: &[Arc<Run>]) {
        // Neighbours are mostly of one claim.
        for runs in runs.chunk_by(|one, next| one.token == next.token) {
            let Some(token) = runs.first().map(|run| run.token) else {
                continue;
            };
            for life in &mut self.lives {
                let Some(held) = life.claims.get_mut(&token) else {
                    continue;
                };
                held.forget(runs);
                if held.left == 0 {
                    life.claims.remove(&token);
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

    /// The jobs whose lease can no longer be trusted.
    pub(crate) fn fenced(&self, now: BootTime) -> Vec<Arc<Run>> {
        let is_over = |life: &&Life| !life.claims.is_empty() && life.fence.time() <= now;
        self.lives
            .iter()
            .filter(is_over)
            .flat_map(Life::runs)
            .cloned()
            .collect()
    }

    /// When the renewal loop has to look again; nothing while nothing is held.
    pub(crate) fn next_look(&self) -> Option<BootTime> {
        let busy = self.lives.iter().filter(|life| !life.is_idle());
        busy.map(|life| life.renew_at.min(life.fence.time())).min()
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
                let renewal = Renewal::Worker {
                    boot: life.boot.clone(),
                    tokens: life.claims.keys().copied().collect(),
                    settled: life.settled(),
                };
                (renewal, Arc::clone(&life.fence))
            })
            .collect()
    }

    /// A renewal was answered; what it gave back is forgotten.
    pub(crate) fn renewed(&mut self, boot: &BootId, settled: u64, renew_at: BootTime) {
        if let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) {
            life.renew_at = renew_at;
            if life.unheard.is_some_and(|unheard| unheard <= settled) {
                life.unheard = None;
            }
        }
    }

    /// Asks for a renewal now.
    pub(crate) fn hurry(&mut self) {
        let now = BootTime::now();
        for life in &mut self.lives {
            life.renew_at = life.renew_at.min(now);
        }
    }

    /// Every boot id that something may be held under.
    pub(crate) fn boots(&self) -> Vec<BootId> {
        self.lives.iter().map(|life| life.boot.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    /// What the renewal that is due now says it knows everything up to.
    fn settled(holdings: &mut Holdings) -> u64 {
        holdings.hurry();
        match &holdings.due(BootTime::now(), SOON)[..] {
            [(Renewal::Worker { settled, .. }, _)] => *settled,
            due => panic!("one renewal is due: {due:?}"),
        }
    }

    #[test]
    fn a_renewal_gives_back_no_claim_whose_answer_is_on_its_way() {
        let mut holdings = Holdings::new(BootId::generate());
        let (boot, first, _) = holdings.next_claim();
        let (_, second, _) = holdings.next_claim();
        let (_, third, _) = holdings.next_claim();
        // The third was given up, so that there is something to renew, and the second overtook the first.
        holdings.given_up(&boot, (third, third));
        holdings.answered(&boot, (second, second), None, BootTime::NEVER);

        assert!(settled(&mut holdings) < first);

        assert!(holdings.answered(&boot, (first, first), None, BootTime::NEVER));
        assert_eq!(settled(&mut holdings), third);
    }

    #[test]
    fn nobody_is_given_a_number_that_a_waiting_claim_may_go_on_to() {
        let mut holdings = Holdings::new(BootId::generate());
        holdings.park(true);
        let (boot, asked, _) = holdings.next_claim();

        assert!(holdings.next_claim_beside().is_none());

        holdings.answered(&boot, (asked, asked + 1), None, BootTime::NEVER);
        holdings.park(false);
        let beside = holdings.next_claim_beside();
        assert_eq!(beside.map(|(_, number, _)| number), Some(asked + 2));
    }

    #[test]
    fn a_claim_that_waited_under_many_numbers_is_closed_with_the_last() {
        let mut holdings = Holdings::new(BootId::generate());
        let (boot, asked, _) = holdings.next_claim();

        holdings.given_up(&boot, (asked, asked + 7));

        assert_eq!(settled(&mut holdings), asked + 7);
        assert_eq!(holdings.next_claim().1, asked + 8);
    }
}
