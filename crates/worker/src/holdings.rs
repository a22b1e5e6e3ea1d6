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
mod tests {
    use bytes::Bytes;
    use windlass_core::{
        ClaimedJob, Headers, Priority, QueueName, RetryPolicy, SystemClock, Timestamp,
    };
    use windlass_store_memory::MemoryStore;

    use super::*;
    use crate::run::Origin;

    const SOON: Duration = Duration::from_secs(1);

    /// Holds a claim of so many jobs.
    fn hold(holdings: &mut Holdings, jobs: usize) -> Vec<Arc<Run>> {
        let (boot, number, fence) = holdings.next_claim();
        let origin = Arc::new(Origin {
            store: Arc::new(MemoryStore::new(Arc::new(SystemClock))),
            queue: QueueName::new("mail").expect("it is a name"),
        });
        let token = Token { number, nonce: 0 };
        let runs: Vec<_> = (0..jobs)
            .map(|index| {
                let place = (token, index);
                let (origin, fence) = (Arc::clone(&origin), Arc::clone(&fence));
                Arc::new(Run::new(origin, job(), place, fence, None))
            })
            .collect();
        let held = Some((token, runs.clone()));
        holdings.answered(&boot, (number, number), held, BootTime::NEVER);
        runs
    }

    fn job() -> ClaimedJob {
        ClaimedJob {
            id: JobId::generate(),
            kind: None,
            payload: Bytes::new(),
            headers: Headers::default(),
            priority: Priority::default(),
            attempt: 1,
            expiries: 0,
            retry: RetryPolicy::default(),
            timeout: None,
            created_at: Timestamp::default(),
            due_at: Timestamp::default(),
        }
    }

    /// How many claims the renewal that is due now names.
    fn named(holdings: &mut Holdings) -> usize {
        holdings.hurry();
        match &holdings.due(BootTime::now(), SOON)[..] {
            [(Renewal::Worker { tokens, .. }, _)] => tokens.len(),
            due => panic!("one renewal is due: {due:?}"),
        }
    }

    fn renewed(holdings: &mut Holdings) {
        let boot = holdings.boots().remove(0);
        holdings.renewed(&boot, true, BootTime::NEVER);
    }

    fn is_due(holdings: &Holdings) -> bool {
        let at = holdings.lives[0].renew_at;
        holdings.next_look().is_some() && at <= BootTime::now()
    }

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
        holdings.given_up(&boot, (third, third), 1);
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

        holdings.given_up(&boot, (asked, asked + 7), 1);

        assert_eq!(settled(&mut holdings), asked + 7);
        assert_eq!(holdings.next_claim().1, asked + 8);
    }

    #[test]
    fn a_renewal_that_was_asked_for_while_one_is_on_its_way_is_not_put_off_by_its_answer() {
        let mut holdings = Holdings::new(BootId::generate());
        hold(&mut holdings, 2);

        named(&mut holdings);
        renewed(&mut holdings);
        assert!(!is_due(&holdings), "nobody asked");

        named(&mut holdings);
        holdings.hurry();
        renewed(&mut holdings);
        assert!(is_due(&holdings));
    }

    #[test]
    fn a_renewal_that_takes_longer_than_its_retry_does_not_put_off_what_was_asked_for_then() {
        let mut holdings = Holdings::new(BootId::generate());
        hold(&mut holdings, 1);

        holdings.hurry();
        holdings.due(BootTime::now(), Duration::ZERO);
        holdings.hurry();
        renewed(&mut holdings);

        assert!(is_due(&holdings));
    }

    #[test]
    fn a_claim_given_up_while_a_renewal_is_on_its_way_is_given_back_by_the_next() {
        let mut holdings = Holdings::new(BootId::generate());
        hold(&mut holdings, 1);
        let (boot, lost, _) = holdings.next_claim();

        named(&mut holdings);
        holdings.given_up(&boot, (lost, lost), 1);
        renewed(&mut holdings);

        assert!(is_due(&holdings));
        assert_eq!(settled(&mut holdings), lost);
    }

    #[test]
    fn jobs_dropped_untold_are_left_to_renewals_once_nothing_of_their_claim_is_held() {
        let mut holdings = Holdings::new(BootId::generate());
        let runs = hold(&mut holdings, 2);

        holdings.drop_untold(&runs[..1]);
        assert_eq!(named(&mut holdings), 1);
        renewed(&mut holdings);
        holdings.forget(&runs[1..]);

        assert_eq!(named(&mut holdings), 0);
        renewed(&mut holdings);
        assert!(holdings.next_look().is_none(), "the store has heard");
    }

    #[test]
    fn jobs_dropped_while_a_renewal_that_names_them_is_on_its_way_are_left_to_the_next() {
        let mut holdings = Holdings::new(BootId::generate());
        let runs = hold(&mut holdings, 1);

        assert_eq!(named(&mut holdings), 1);
        holdings.drop_untold(&runs);
        renewed(&mut holdings);

        assert!(holdings.next_look().is_some(), "one more has to go");
        assert_eq!(named(&mut holdings), 0);
    }

    #[test]
    fn renewals_go_on_at_once_until_every_page_has_gone_back() {
        let mut holdings = Holdings::new(BootId::generate());
        let claims: Vec<_> = (0..3).map(|_| hold(&mut holdings, 70)).collect();
        holdings.drop_untold(&claims.concat());

        for _ in 0..2 {
            assert_eq!(named(&mut holdings), 0);
            renewed(&mut holdings);
            assert!(is_due(&holdings));
        }
        named(&mut holdings);
        renewed(&mut holdings);

        assert!(
            holdings.next_look().is_none(),
            "two hundred and ten went back"
        );
    }

    #[test]
    fn jobs_that_are_trusted_no_more_go_back_when_their_handlers_had_time_to_stop() {
        let mut holdings = Holdings::new(BootId::generate());
        hold(&mut holdings, 3);
        let fence = holdings.lives[0].fence.time();

        let fenced = holdings.take_fenced(BootTime::now(), SOON);

        assert_eq!(fenced.len(), 3);
        let back = fence.plus(SOON);
        assert_eq!(holdings.next_look(), Some(back), "and no sooner");
        assert!(holdings.take_fenced(back, SOON).is_empty());
        assert_eq!(holdings.due(back, SOON).len(), 1);
    }

    #[test]
    fn nothing_is_left_to_give_back_when_the_store_holds_no_lease() {
        let mut holdings = Holdings::new(BootId::generate());
        let claims: Vec<_> = (0..3).map(|_| hold(&mut holdings, 70)).collect();
        holdings.drop_untold(&claims.concat());
        named(&mut holdings);

        let boot = holdings.boots().remove(0);
        holdings.renewed(&boot, false, BootTime::NEVER);

        assert!(holdings.next_look().is_none());
    }
}
