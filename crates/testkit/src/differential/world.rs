//! What the callers of a run know: their boots, claims and tokens, and the calls nobody answered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use windlass_core::limits::PAGE;
use windlass_core::{
    BootId, Claim, ClaimRequest, Claimer, Filter, JobId, JobLease, ManualClock, Mode, QueueName,
    Target, Token,
};

use super::chance::percent;
use super::reply::Reply;
use super::step::{Change, Movement, Step};

/// How many past claims are remembered for calls with stale tokens.
const PAST_MAX: usize = 24;

/// How many unanswered calls wait to be repeated.
const UNANSWERED_MAX: usize = 6;

/// How many of a hundred replies are lost.
const LOST_PERCENT: u8 = 8;

/// A claim as a caller remembers it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) queue: QueueName,
    pub(super) token: Token,
    pub(super) ids: Vec<JobId>,
}

/// One life of a worker.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) boot: BootId,
    pub(super) seq: u64,
    pub(super) settled: u64,
    pub(super) held: Vec<Known>,
}

/// All that the callers know.
#[derive(Debug)]
pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) lives: Vec<Life>,
    /// Claims made without a worker's boot.
    pub(super) singles: Vec<Known>,
    /// Claims that were settled, lost or forgotten: their tokens are shown again now and then.
    pub(super) past: Vec<Known>,
    /// Calls whose replies were lost; each may be made again.
    pub(super) unanswered: Vec<Step>,
    /// Steps to take before any other.
    pub(super) urgent: Vec<Step>,
    clock: Arc<ManualClock>,
    queues: [QueueName; 2],
    seen: BTreeSet<Token>,
    count: u64,
}

impl World {
    pub(super) fn new(seed: u64, clock: Arc<ManualClock>) -> Self {
        let queue = |name| QueueName::new(name).expect("a short plain name is valid");
        let mut world = Self {
            rng: Rng::with_seed(seed),
            lives: Vec::new(),
            singles: Vec::new(),
            past: Vec::new(),
            unanswered: Vec::new(),
            urgent: Vec::new(),
            clock,
            queues: [queue("first"), queue("second")],
            seen: BTreeSet::new(),
            count: 0,
        };
        for _ in 0..3 {
            let life = world.new_life();
            world.lives.push(life);
        }
        world
    }

    pub(super) fn clock(&self) -> &ManualClock {
        &self.clock
    }

    pub(super) fn queues(&self) -> &[QueueName] {
        &self.queues
    }

    /// One queue; mostly the first, so that things pile up.
    pub(super) fn queue(&mut self) -> QueueName {
        let index = usize::from(percent(&mut self.rng, 15));
        self.queues[index].clone()
    }

    /// A number that was not used before.
    pub(super) fn fresh(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn new_life(&mut self) -> Life {
        let boot = format!("boot-{:03}", self.fresh());
        Life {
            boot: BootId::new(boot).expect("a short plain name is valid"),
            seq: 0,
            settled: 0,
            held: Vec::new(),
        }
    }

    /// A worker dies without a word and comes back knowing nothing.
    pub(super) fn crash(&mut self, index: usize) {
        let next = self.new_life();
        let dead = std::mem::replace(&mut self.lives[index], next);
        for known in dead.held {
            self.retire(known);
        }
    }

    /// Whether the claim of a reply was handed out before.
    pub(super) fn has_seen(&mut self, reply: &Reply) -> bool {
        reply
            .claim()
            .is_some_and(|claim| !self.seen.insert(claim.token))
    }

    /// Learns from a reply, or loses it.
    pub(super) fn learn(&mut self, step: &Step, reply: &Reply) {
        let may_be_lost = matches!(
            step,
            Step::Claim(..)
                | Step::Complete(..)
                | Step::Fail(..)
                | Step::Release(..)
                | Step::Snooze(..)
                | Step::Enqueue(..)
                | Step::Renew(..)
                | Step::Accept(..)
        );
        if may_be_lost && percent(&mut self.rng, LOST_PERCENT) {
            return self.lose(step, reply);
        }
        match (step, reply) {
            (Step::Claim(queue, request), Reply::Claim(claim)) => {
                self.learn_claim(queue, request, claim.as_ref());
            }
            (Step::Complete(queue, completions, next), Reply::Completed(completed)) => {
                self.settle(completions.iter().map(|item| &item.lease));
                if let Some(request) = next {
                    self.learn_claim(queue, request, completed.next.as_ref());
                }
            }
            (Step::Fail(_, failures), Reply::OutcomeStatus(_)) => {
                self.settle(failures.iter().map(|item| &item.lease));
            }
            (Step::Release(_, holds) | Step::Snooze(_, holds, _), Reply::OutcomeStatus(_)) => {
                self.settle(holds.iter());
            }
            (Step::Renew(..), Reply::Renewed(renewed)) => {
                for token in &renewed.lost {
                    self.forget(*token);
                }
            }
            _ => {}
        }
    }

    /// The reply never arrives. Its caller may ask again, or give the claim up.
    fn lose(&mut self, step: &Step, reply: &Reply) {
        if self.unanswered.len() < UNANSWERED_MAX {
            self.unanswered.push(step.clone());
        }
        // Somebody may still come up with the token of a claim whose first reply was lost.
        let (Step::Claim(queue, _) | Step::Complete(queue, _, _)) = step else {
            return;
        };
        if let Some(claim) = reply.claim() {
            self.retire(known(queue, claim));
        }
    }

    fn learn_claim(&mut self, queue: &QueueName, request: &ClaimRequest, claim: Option<&Claim>) {
        let claim = claim.map(|claim| known(queue, claim));
        let Claimer::Worker { boot, seq } = &request.claimer else {
            self.singles.extend(claim);
            return;
        };
        let Some(life) = self.lives.iter_mut().find(|life| life.boot == *boot) else {
            return;
        };
        life.settled = life.settled.max(*seq);
        let Some(claim) = claim else { return };
        if request.mode == Mode::AtMostOnce {
            self.retire(claim);
        } else if !life.held.iter().any(|held| held.token == claim.token) {
            life.held.push(claim);
        }
    }

    fn settle<'a>(&mut self, holds: impl Iterator<Item = &'a JobLease>) {
        for hold in holds {
            let mut emptied = Vec::new();
            let by_life = self.lives.iter_mut().map(|life| &mut life.held);
            for held in by_life.chain([&mut self.singles]) {
                for known in held.iter_mut().filter(|known| known.token == hold.token) {
                    if let Some(at) = known.ids.iter().position(|id| *id == hold.id) {
                        let id = known.ids.remove(at);
                        emptied.push(Known {
                            ids: vec![id],
                            ..known.clone()
                        });
                    }
                }
                held.retain(|known| !known.ids.is_empty());
            }
            for known in emptied {
                self.retire(known);
            }
        }
    }

    /// A token is known to be lost.
    fn forget(&mut self, token: Token) {
        let mut lost = Vec::new();
        let by_life = self.lives.iter_mut().map(|life| &mut life.held);
        for held in by_life.chain([&mut self.singles]) {
            lost.extend(held.extract_if(.., |known| known.token == token));
        }
        for known in lost {
            self.retire(known);
        }
    }

    pub(super) fn retire(&mut self, known: Known) {
        if self.past.len() == PAST_MAX {
            self.past.remove(0);
        }
        self.past.push(known);
    }

    /// Empties a queue of all but its running jobs.
    pub(super) fn relieve(&mut self, queue: &QueueName) {
        self.urgent.push(Step::Purge(queue.clone()));
        let finished = Target::Filter(Filter::default());
        self.urgent
            .push(Step::Change(queue.clone(), Change::Delete, finished));
    }

    /// Enough time and maintenance for everything to come to rest.
    pub(super) fn closing_steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for hours in [0, 1, 24 * 40] {
            let forward = Movement::Forward(Duration::from_secs(hours * 3600));
            steps.push(Step::Clock(forward));
            for queue in &self.queues {
                for _ in 0..4 {
                    steps.push(Step::Maintain(queue.clone(), PAGE));
                }
                steps.push(Step::Audit(queue.clone()));
                steps.push(Step::Stats(queue.clone()));
            }
        }
        steps
    }
}

fn known(queue: &QueueName, claim: &Claim) -> Known {
    let ids = claim.jobs.iter().map(|job| job.id.clone()).collect();
    Known {
        queue: queue.clone(),
        token: claim.token,
        ids,
    }
}
