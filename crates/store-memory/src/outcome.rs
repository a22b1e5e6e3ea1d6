//! complete, fail, release and snooze. The token decides; a repeated call gets the same reply.

use windlass_core::OutcomeStatus::{self, Cancelled, Completed, Dead, Released, Retrying, Snoozed};
use windlass_core::limits::{CLAIM_TOMBSTONE, truncate_message};
use windlass_core::store::{AttemptEnd, Completion, Failure, Snooze, SnoozeScope};
use windlass_core::time::Now;
use windlass_core::{ClaimRequest, JobId, JobLease, Token};

use crate::queue::{ClaimRecord, Queue};

impl ClaimRecord {
    /// Whether the claim finished so long ago that repeated calls no longer get the same reply.
    pub(crate) fn is_forgotten(&self, now: Now) -> bool {
        self.finished_at
            .is_some_and(|at| at.plus(CLAIM_TOMBSTONE) <= now.ms())
    }
}

impl Queue {
    pub(crate) fn complete(
        &mut self,
        completions: Vec<Completion>,
        next: Option<&ClaimRequest>,
    ) -> windlass_core::store::Completed {
        let completions = completions.into_iter();
        let statuses = completions.map(|item| self.complete_one(item)).collect();
        self.prune_after();
        let next = next.and_then(|request| self.claim(request));
        windlass_core::store::Completed { statuses, next }
    }

    fn complete_one(&mut self, completion: Completion) -> OutcomeStatus {
        let JobLease { id, token } = &completion.lease;
        if self.leased(id, *token).is_none() {
            return self.repeated_status(&completion.lease, &[Completed]);
        }
        self.forgive(id);
        self.leave_claim(id, Completed);
        self.succeed(id, completion.result);
        Completed
    }

    pub(crate) fn fail(&mut self, failures: &[Failure]) -> Vec<OutcomeStatus> {
        let same = [Retrying, Dead, Cancelled];
        let fail = |failure: &Failure| {
            self.unless_stopped(&failure.lease, &same, |queue| queue.fail_one(failure))
        };
        let statuses = failures.iter().map(fail).collect();
        self.prune_after();
        statuses
    }

    fn fail_one(&mut self, failure: &Failure) -> OutcomeStatus {
        self.failed += 1;
        let id = &failure.lease.id;
        let error = truncate_message(&failure.error);
        self.record_attempt(id, AttemptEnd::Failed, Some(error));
        self.count_error(id, error);
        let job = self.job(id);
        let (attempt, policy) = (job.attempt, job.retry);
        match failure.retry.next_due(&policy, attempt, self.now) {
            Ok(due) => {
                self.leave_claim(id, Retrying);
                self.job(id).attempt += 1;
                self.insert_scheduled(id, due);
                Retrying
            }
            Err(reason) => {
                self.leave_claim(id, Dead);
                self.mark_dead(id, reason);
                Dead
            }
        }
    }

    pub(crate) fn release(&mut self, leases: &[JobLease]) -> Vec<OutcomeStatus> {
        let mut back = Vec::new();
        let release = |lease: &JobLease| {
            self.unless_stopped(lease, &[Released, Cancelled], |queue| {
                back.push((queue.claim_order(&lease.id, lease.token), lease.id.clone()));
                queue.leave_claim(&lease.id, Released);
                Released
            })
        };
        let statuses = leases.iter().map(release).collect();
        back.sort();
        self.requeue_in_order(back.into_iter().map(|(_, id)| id).collect());
        self.prune_after();
        statuses
    }

    pub(crate) fn snooze(&mut self, snoozes: &[Snooze]) -> Vec<OutcomeStatus> {
        let mut back = Vec::new();
        let snooze = |snooze: &Snooze| {
            let JobLease { id, token } = &snooze.lease;
            self.unless_stopped(&snooze.lease, &[Snoozed, Cancelled], |queue| {
                let (order, until) = (queue.claim_order(id, *token), snooze.due.resolve(queue.now));
                queue.leave_claim(id, Snoozed);
                let group = queue.jobs[id].group.clone();
                match (snooze.scope, group) {
                    (SnoozeScope::Queue, _) => queue.resting_until = queue.resting_until.max(until),
                    (SnoozeScope::Group, Some(group)) => queue.rest_group(&group, until),
                    (SnoozeScope::Job | SnoozeScope::Group, _) => {
                        queue.insert_scheduled(id, until);
                        return Snoozed;
                    }
                }
                back.push((order, id.clone()));
                Snoozed
            })
        };
        let statuses = snoozes.iter().map(snooze).collect();
        back.sort();
        self.requeue_in_order(back.into_iter().map(|(_, id)| id).collect());
        self.prune_after();
        statuses
    }

    /// Records the outcome of an attempt that did not succeed. A job whose cancellation was requested
    /// is cancelled, whatever outcome was reported.
    fn unless_stopped(
        &mut self,
        lease: &JobLease,
        same: &[OutcomeStatus],
        record: impl FnOnce(&mut Self) -> OutcomeStatus,
    ) -> OutcomeStatus {
        let Some(job) = self.leased(&lease.id, lease.token) else {
            return self.repeated_status(lease, same);
        };
        let is_cancel_requested = job.is_cancel_requested;
        self.forgive(&lease.id);
        if is_cancel_requested {
            self.leave_claim(&lease.id, Cancelled);
            self.mark_cancelled(&lease.id);
            return Cancelled;
        }
        record(self)
    }

    /// Resets the expiries of a job: its worker survived it and reported an outcome.
    fn forgive(&mut self, id: &JobId) {
        self.job(id).expiries = 0;
    }

    /// The reply to a token that is not valid for the job: the earlier reply to the same verb, or
    /// `LeaseLost`, or `Gone`.
    fn repeated_status(&self, lease: &JobLease, same: &[OutcomeStatus]) -> OutcomeStatus {
        let claim = self.claims.get(&lease.token);
        let claim = claim.filter(|claim| !claim.is_forgotten(self.now));
        match claim.and_then(|claim| claim.left.get(&lease.id)) {
            Some(status) if same.contains(status) => *status,
            Some(_) => OutcomeStatus::LeaseLost,
            None if self.jobs.contains_key(&lease.id) => OutcomeStatus::LeaseLost,
            None => OutcomeStatus::Gone,
        }
    }

    /// The position of a running job in claim order: token, then index in its claim.
    pub(crate) fn claim_order(&self, id: &JobId, token: Token) -> (u64, i64) {
        let claim = self.claims.get(&token);
        let index = claim.and_then(|claim| claim.ids.iter().position(|claimed| claimed == id));
        let index = i64::try_from(index.unwrap_or_default()).unwrap_or(i64::MAX);
        (token.number, index)
    }
}
