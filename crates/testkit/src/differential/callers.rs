//! The state of the simulated callers: workers, claims, tokens, and calls whose reply was lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use windlass_core::limits::PAGE;
use windlass_core::store::{Claimer, RefillRequest, ScheduleRecord};
use windlass_core::{
    BootId, Change, Claim, ClaimRequest, Filter, JobId, JobLease, ManualClock, Mode, QueueName,
    Target, Token,
};

use super::generate::schedule;
use super::operation::{Movement, Operation};
use super::random::percent;
use super::reply::Reply;

/// The number of past claims kept for calls with stale tokens.
const PAST_MAX: usize = 24;

/// The maximum number of calls without reply that may be repeated.
const UNANSWERED_MAX: usize = 6;

/// The percentage of replies that are lost.
const LOST_PERCENT: u8 = 8;

/// A claim known to a caller.
#[derive(Debug, Clone)]
pub(super) struct KnownClaim {
    pub(super) queue: QueueName,
    pub(super) token: Token,
    pub(super) ids: Vec<JobId>,
}

/// A simulated worker.
#[derive(Debug, Clone)]
pub(super) struct WorkerState {
    pub(super) boot: BootId,
    pub(super) seq: u64,
    pub(super) settled: u64,
    pub(super) claims: Vec<KnownClaim>,
}

/// The state of all callers.
#[derive(Debug)]
pub(super) struct Callers {
    pub(super) rng: Rng,
    pub(super) workers: Vec<WorkerState>,
    /// Single claims.
    pub(super) singles: Vec<KnownClaim>,
    /// Claims that were finished, lost or forgotten. Their tokens are used again occasionally.
    pub(super) past: Vec<KnownClaim>,
    /// Calls whose replies were lost. Each may be repeated.
    pub(super) unanswered: Vec<Operation>,
    /// Operations to run before any other.
    pub(super) urgent: Vec<Operation>,
    /// Current and waiting jobs of schedules.
    pub(super) scheduled: Vec<JobId>,
    /// Instants that a store asked for.
    pub(super) requests: Vec<(QueueName, RefillRequest)>,
    /// Whether jobs have groups. Some runs have none: a queue with groups is never a plain one.
    pub(super) has_groups: bool,
    clock: Arc<ManualClock>,
    queues: [QueueName; 2],
    seen: BTreeSet<Token>,
    count: u64,
}

impl Callers {
    pub(super) fn new(seed: u64, clock: Arc<ManualClock>) -> Self {
        let queue = |name| QueueName::new(name).expect("a valid name");
        let mut callers = Self {
            rng: Rng::with_seed(seed),
            workers: Vec::new(),
            singles: Vec::new(),
            past: Vec::new(),
            unanswered: Vec::new(),
            urgent: Vec::new(),
            scheduled: Vec::new(),
            requests: Vec::new(),
            has_groups: seed.is_multiple_of(2),
            clock,
            queues: [queue("first"), queue("second")],
            seen: BTreeSet::new(),
            count: 0,
        };
        for _ in 0..3 {
            let worker = callers.new_worker();
            callers.workers.push(worker);
        }
        callers
    }

    pub(super) fn clock(&self) -> &ManualClock {
        &self.clock
    }

    pub(super) fn queues(&self) -> &[QueueName] {
        &self.queues
    }

    /// Returns a queue: mostly the first, so that jobs accumulate.
    pub(super) fn queue(&mut self) -> QueueName {
        let index = usize::from(percent(&mut self.rng, 15));
        self.queues[index].clone()
    }

    /// Returns a number that was not used before.
    pub(super) fn fresh(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn new_worker(&mut self) -> WorkerState {
        let boot = format!("boot-{:03}", self.fresh());
        WorkerState {
            boot: BootId::new(boot).expect("a valid name"),
            seq: 0,
            settled: 0,
            claims: Vec::new(),
        }
    }

    /// Replaces a worker with a new one that knows nothing, as after a crash.
    pub(super) fn crash(&mut self, index: usize) {
        let next = self.new_worker();
        let dead = std::mem::replace(&mut self.workers[index], next);
        for known in dead.claims {
            self.retire(known);
        }
    }

    /// Returns whether the claim of a reply was seen before.
    pub(super) fn has_seen(&mut self, reply: &Reply) -> bool {
        reply
            .claim()
            .is_some_and(|claim| !self.seen.insert(claim.token))
    }

    /// Updates the callers from a reply, or loses the reply.
    pub(super) fn learn(&mut self, operation: &Operation, reply: &Reply) {
        let may_be_lost = matches!(
            operation,
            Operation::Claim(..)
                | Operation::Complete(..)
                | Operation::Fail(..)
                | Operation::Release(..)
                | Operation::Snooze(..)
                | Operation::Enqueue(..)
                | Operation::Renew(..)
                | Operation::Accept(..)
                | Operation::PutSchedule(..)
                | Operation::Refill(..)
                | Operation::RunSchedule(..)
        );
        if may_be_lost && percent(&mut self.rng, LOST_PERCENT) {
            return self.lose(operation, reply);
        }
        match (operation, reply) {
            (Operation::Claim(queue, request), Reply::Claim(claim)) => {
                self.learn_claim(queue, request, claim.as_ref());
            }
            (Operation::Complete(queue, completions, next), Reply::Completed(completed)) => {
                self.finish_jobs(completions.iter().map(|item| &item.lease));
                if let Some(request) = next {
                    self.learn_claim(queue, request, completed.next.as_ref());
                }
            }
            (Operation::Fail(_, failures), Reply::OutcomeStatus(_)) => {
                self.finish_jobs(failures.iter().map(|item| &item.lease));
            }
            (
                Operation::Release(_, leases) | Operation::Snooze(_, leases, ..),
                Reply::OutcomeStatus(_),
            ) => {
                self.finish_jobs(leases.iter());
            }
            (Operation::Renew(..), Reply::Renewed(renewed)) => {
                for token in &renewed.lost {
                    self.forget(*token);
                }
            }
            (
                Operation::Schedules(queue, _) | Operation::Schedule(queue, _),
                Reply::Schedules(records),
            ) => {
                let jobs =
                    |record: &ScheduleRecord| [record.current.clone(), record.waiting.clone()];
                let ids = records.iter().flat_map(jobs).flatten();
                self.scheduled = ids.collect();
                let waiting = records.iter().find_map(|record| record.waiting.clone());
                if let Some(waiting) = waiting.filter(|_| self.rng.bool()) {
                    // Pending jobs are rare: replace or postpone this one while it is known to be there.
                    let amend = schedule::amend(self, queue, waiting);
                    self.urgent.push(amend);
                }
            }
            (Operation::PutSchedule(queue, ..), Reply::Put(put)) => {
                schedule::learn(self, queue, put.refill.as_slice());
            }
            (Operation::Maintain(queue, _), Reply::Maintained(done)) => {
                schedule::learn(self, queue, &done.refills);
            }
            _ => {}
        }
    }

    /// Loses a reply. The caller may repeat the call or abandon the claim.
    fn lose(&mut self, operation: &Operation, reply: &Reply) {
        if self.unanswered.len() < UNANSWERED_MAX {
            self.unanswered.push(operation.clone());
        }
        // A stale token may still be used after the first reply was lost.
        let (Operation::Claim(queue, _) | Operation::Complete(queue, _, _)) = operation else {
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
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.boot == *boot) else {
            return;
        };
        worker.settled = worker.settled.max(*seq);
        let Some(claim) = claim else { return };
        if request.mode == Mode::AtMostOnce {
            self.retire(claim);
        } else if !worker.claims.iter().any(|known| known.token == claim.token) {
            worker.claims.push(claim);
        }
    }

    fn finish_jobs<'a>(&mut self, leases: impl Iterator<Item = &'a JobLease>) {
        for lease in leases {
            let mut emptied = Vec::new();
            let by_worker = self.workers.iter_mut().map(|worker| &mut worker.claims);
            for claims in by_worker.chain([&mut self.singles]) {
                for known in claims.iter_mut().filter(|known| known.token == lease.token) {
                    if let Some(at) = known.ids.iter().position(|id| *id == lease.id) {
                        let id = known.ids.remove(at);
                        emptied.push(KnownClaim {
                            ids: vec![id],
                            ..known.clone()
                        });
                    }
                }
                claims.retain(|known| !known.ids.is_empty());
            }
            for known in emptied {
                self.retire(known);
            }
        }
    }

    /// Forgets the claims of a lost token.
    fn forget(&mut self, token: Token) {
        let mut lost = Vec::new();
        let by_worker = self.workers.iter_mut().map(|worker| &mut worker.claims);
        for claims in by_worker.chain([&mut self.singles]) {
            lost.extend(claims.extract_if(.., |known| known.token == token));
        }
        for known in lost {
            self.retire(known);
        }
    }

    pub(super) fn retire(&mut self, known: KnownClaim) {
        if self.past.len() == PAST_MAX {
            self.past.remove(0);
        }
        self.past.push(known);
    }

    /// Removes all but the running jobs of a queue.
    pub(super) fn empty_queue(&mut self, queue: &QueueName) {
        self.urgent.push(Operation::Purge(queue.clone()));
        let finished = Target::Filter(Filter::default());
        self.urgent
            .push(Operation::Change(queue.clone(), Change::Delete, finished));
    }

    /// Advances the clock and runs maintenance until nothing is left to do.
    pub(super) fn closing_operations(&self) -> Vec<Operation> {
        let mut steps = Vec::new();
        for hours in [0, 1, 24 * 40] {
            let forward = Movement::Forward(Duration::from_secs(hours * 3600));
            steps.push(Operation::Clock(forward));
            for queue in &self.queues {
                for _ in 0..4 {
                    steps.push(Operation::Maintain(queue.clone(), PAGE));
                }
                steps.push(Operation::Audit(queue.clone()));
                steps.push(Operation::Stats(queue.clone()));
            }
        }
        steps
    }
}

fn known(queue: &QueueName, claim: &Claim) -> KnownClaim {
    let ids = claim.jobs.iter().map(|job| job.id.clone()).collect();
    KnownClaim {
        queue: queue.clone(),
        token: claim.token,
        ids,
    }
}
