//! Claiming: requests and their replies, shared by the fetch and report loops.

pub(crate) mod fetch;
pub(crate) mod held_claims;
pub(crate) mod limit;
pub(crate) mod renew;
pub(crate) mod slots;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{BootId, Claim, ClaimRequest, Mode};

use crate::boot_time::BootTime;
use crate::claim::slots::Slot;
use crate::outcome::Outcome;
use crate::queue_state::QueueState;
use crate::run::attempt::{Attempt, LocalExpiry};
use crate::run::execute;
use crate::run::outcome_queue::EndedAttempt;
use crate::run::run_queue::ClaimedAttempt;
use crate::shared::Shared;
use crate::stop::phase::Phase;

/// A claim in flight.
#[derive(Debug)]
pub(crate) struct PendingClaim {
    pub(crate) request: ClaimRequest,
    /// The number it was first sent with; a blocking claim moves on to higher numbers.
    number: u64,
}

impl PendingClaim {
    /// The number it was first sent with, and its current number.
    fn numbers(&self) -> (u64, u64) {
        (self.number, self.request.claimer.seq())
    }
}

impl Shared {
    /// Creates a claim with this boot id and number, for up to `max` jobs.
    pub(crate) fn start_claim(
        &self,
        queue: &QueueState,
        (boot, number): (BootId, u64),
        max: usize,
    ) -> PendingClaim {
        let request = ClaimRequest::worker(boot, number, max.min(queue.claim_limit.get()))
            .lease(self.options.lease)
            .mode(self.options.mode);
        PendingClaim { request, number }
    }

    /// Handles the reply to a claim: tracks the jobs and starts each in one of the slots; unused ones
    /// remain in `slot`. Their lease began at `since` or later.
    pub(crate) fn claim_answered(
        self: &Arc<Self>,
        queue: &Arc<QueueState>,
        pending: &PendingClaim,
        claim: Option<Claim>,
        since: BootTime,
        slot: &mut Slot,
    ) {
        let Some(boot) = pending.request.claimer.worker() else {
            return;
        };
        let attempts = self.new_attempts(queue, self.local_expiry(since), claim);
        let is_drained = attempts.len() < pending.request.max;
        queue.is_drained.store(is_drained, Ordering::Release);
        let is_leased = self.options.mode != Mode::AtMostOnce;
        if !is_leased {
            queue.track_unleased(&attempts);
        }
        let first = attempts.first().filter(|_| is_leased);
        let held = first.map(|first| (first.token, attempts.clone()));
        let renew_at = since.plus(self.renew_every());
        let numbers = pending.numbers();
        if queue
            .held_claims()
            .claim_answered(boot, numbers, held, renew_at)
        {
            queue.renew.notify_one();
        }
        if attempts.is_empty() {
            return;
        }
        queue.claim_limit.grow();
        let claimed = attempts.into_iter().map(|attempt| ClaimedAttempt {
            queue: Arc::clone(queue),
            attempt,
            slot: slot.split(1),
        });
        if !is_leased || self.stopper.phase() == Phase::Working {
            claimed.for_each(|claimed| execute::start_or_queue(self, claimed));
        } else {
            release_unstarted(queue, claimed);
        }
    }

    fn new_attempts(
        &self,
        queue: &QueueState,
        expiry: BootTime,
        claim: Option<Claim>,
    ) -> Vec<Arc<Attempt>> {
        let Some(Claim { token, jobs, .. }) = claim else {
            return Vec::new();
        };
        let expiry = Arc::new(LocalExpiry::at(expiry));
        let wait = |due_at| token.issued_at().since(due_at);
        jobs.into_iter()
            .enumerate()
            .map(|(index, job)| {
                let waited = wait(job.due_at);
                let origin = Arc::clone(&queue.origin);
                let expiry = Arc::clone(&expiry);
                let timeout = self.options.timeout;
                let attempt = Attempt::new(origin, job, (token, index), expiry, timeout);
                attempt.metrics.wait.record(waited);
                Arc::new(attempt)
            })
            .collect()
    }

    /// When a lease that began at `since` expires locally: before it expires in the store, so that the
    /// handler is stopped before another worker gets the job.
    pub(crate) fn local_expiry(&self, since: BootTime) -> BootTime {
        since.plus(self.options.lease.get().saturating_sub(self.margin()))
    }

    /// How long before its expiry in the store a lease expires locally.
    pub(crate) fn margin(&self) -> Duration {
        (self.options.lease.get() / 6).min(Duration::from_secs(2))
    }

    /// The renewal interval: three per lease, so that two may fail.
    pub(crate) fn renew_every(&self) -> Duration {
        self.options.lease.get() / 3
    }
}

/// Abandons a claim whose reply is unknown (none came, or a repeat got a different one). The next
/// renewal releases any jobs it was given.
pub(crate) fn abandon_claim(queue: &QueueState, pending: &PendingClaim) {
    if let Some(boot) = pending.request.claimer.worker() {
        queue
            .held_claims()
            .claim_abandoned(boot, pending.numbers(), pending.request.max);
        queue.renew.notify_one();
    }
}

/// Gives up a claim that was repeated without a reply: like [`abandon_claim`], and the next one asks for
/// half as many jobs.
pub(crate) fn give_up_claim(queue: &QueueState, pending: &PendingClaim) {
    queue.claim_limit.halve(pending.request.max);
    abandon_claim(queue, pending);
}

/// Releases jobs of a queue whose handlers have not started, in claim order; the attempts do not count.
pub(crate) fn release_unstarted(
    queue: &QueueState,
    claimed: impl IntoIterator<Item = ClaimedAttempt>,
) {
    let unstarted = claimed
        .into_iter()
        .filter(|claimed| claimed.attempt.end())
        .map(|claimed| EndedAttempt {
            attempt: claimed.attempt,
            outcome: Outcome::Release,
            slot: Some(claimed.slot),
        });
    queue.outcomes.push(unstarted.collect::<Vec<_>>());
}
