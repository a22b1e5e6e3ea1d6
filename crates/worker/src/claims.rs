//! Asking for jobs and starting those that come, for the two loops that do: fetch and settle.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{BootId, Claim, ClaimRequest, Claimer, Mode};

use crate::bench::Claimed;
use crate::boottime::BootTime;
use crate::execute;
use crate::lane::Lane;
use crate::outbox::Ended;
use crate::outcome::Outcome;
use crate::phase::Phase;
use crate::run::{Fence, Run};
use crate::shared::Shared;
use crate::slots::Slot;

/// A claim on its way.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: ClaimRequest,
    /// The number it was asked with; one that waits goes on to others.
    number: u64,
    fence: Arc<Fence>,
}

impl Asked {
    /// The number it was asked with, and the one it has now.
    fn numbers(&self) -> (u64, u64) {
        (self.number, self.request.claimer.seq())
    }
}

impl Shared {
    /// Makes the next claim of a queue, for as many jobs as there are slots.
    pub(crate) fn ask(&self, lane: &Lane, max: usize) -> Asked {
        let next = lane.holdings().next_claim();
        self.asked(next, max)
    }

    /// The same, unless a claim waits for jobs already.
    pub(crate) fn ask_beside(&self, lane: &Lane, max: usize) -> Option<Asked> {
        let next = lane.holdings().next_claim_beside()?;
        Some(self.asked(next, max))
    }

    fn asked(&self, (boot, number, fence): (BootId, u64, Arc<Fence>), max: usize) -> Asked {
        let request = ClaimRequest::worker(boot, number, max)
            .lease(self.options.lease)
            .mode(self.options.mode);
        Asked {
            request,
            number,
            fence,
        }
    }

    /// A claim was answered: holds the jobs, and starts them. The lease runs since `since` at the
    /// earliest.
    pub(crate) fn heard(
        self: &Arc<Self>,
        lane: &Arc<Lane>,
        asked: &Asked,
        claim: Option<Claim>,
        since: BootTime,
        mut slot: Slot,
    ) {
        let Claimer::Worker { boot, .. } = &asked.request.claimer else {
            return;
        };
        let numbers = asked.numbers();
        let renew_at = since.plus(self.renew_every());
        let found = claim.as_ref().map_or(0, |claim| claim.jobs.len());
        lane.is_drained
            .store(found < asked.request.max, Ordering::Release);
        let Some(claim) = claim else {
            if lane.holdings().answered(boot, numbers, None, renew_at) {
                lane.renew.notify_one();
            }
            return;
        };
        asked.fence.move_to(self.fence_at(since));
        let runs = self.runs(lane, &asked.fence, claim);
        if self.options.mode == Mode::AtMostOnce {
            lane.remember_loose(&runs);
            lane.holdings().answered(boot, numbers, None, renew_at);
        } else {
            let token = runs.first().map(|run| run.token);
            let held = token.map(|token| (token, runs.clone()));
            let is_first = lane.holdings().answered(boot, numbers, held, renew_at);
            if is_first {
                lane.renew.notify_one();
            }
        }
        lane.figures.claimed.increment(runs.len() as u64);
        let may_start =
            self.options.mode == Mode::AtMostOnce || self.stopper.phase() == Phase::Working;
        for run in runs {
            let slot = slot.split(1);
            if may_start {
                let lane = Arc::clone(lane);
                execute::enter(self, Claimed { lane, run, slot });
            } else {
                give_back(lane, run, Some(slot));
            }
        }
    }

    fn runs(&self, lane: &Lane, fence: &Arc<Fence>, claim: Claim) -> Vec<Arc<Run>> {
        let Claim { token, jobs, .. } = claim;
        let wait = |due_at| token.issued_at().since(due_at);
        jobs.into_iter()
            .enumerate()
            .map(|(index, job)| {
                lane.figures.wait.record(wait(job.due_at));
                let origin = Arc::clone(&lane.origin);
                let fence = Arc::clone(fence);
                let timeout = self.options.timeout;
                Arc::new(Run::new(origin, job, (token, index), fence, timeout))
            })
            .collect()
    }

    /// When a lease that runs since `since` is no longer trusted: some time before the store ends
    /// it, so that the handler can be stopped before somebody else has the job.
    pub(crate) fn fence_at(&self, since: BootTime) -> BootTime {
        since.plus(self.options.lease.saturating_sub(self.margin()))
    }

    /// How long before the store ends a lease it is no longer trusted.
    pub(crate) fn margin(&self) -> Duration {
        (self.options.lease / 6).min(Duration::from_secs(2))
    }

    /// Three renewals within a lease: two may fail.
    pub(crate) fn renew_every(&self) -> Duration {
        self.options.lease / 3
    }
}

/// A claim goes unanswered, or was repeated too late to be told the same: what it was handed goes
/// back with the next renewal.
pub(crate) fn give_up(lane: &Lane, asked: &Asked) {
    if let Some(boot) = asked.request.claimer.worker() {
        lane.holdings()
            .given_up(boot, asked.numbers(), asked.request.max);
        lane.renew.notify_one();
    }
}

/// Gives a job back that has not started, attempt not counted.
pub(crate) fn give_back(lane: &Lane, run: Arc<Run>, slot: Option<Slot>) {
    if run.end() {
        lane.outbox.push(Ended {
            run,
            outcome: Outcome::Release,
            slot,
        });
    }
}
