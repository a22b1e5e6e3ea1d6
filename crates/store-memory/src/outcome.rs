//! complete, fail, release and snooze. The token decides; a repeated call gets the same reply.

use windlass_core::limits::{CLAIM_TOMBSTONE, truncate_message};
use windlass_core::time::Now;
use windlass_core::{
    ClaimRequest, Completed, Completion, Due, Failure, JobId, JobLease, OutcomeStatus, Snooze,
    Token,
};

use crate::queue::{ClaimRecord, LaneEnd, Queue};

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
        now: Now,
        completions: Vec<Completion>,
        next: Option<&ClaimRequest>,
    ) -> Completed {
        let statuses = completions
            .into_iter()
            .map(|item| self.complete_one(now, item))
            .collect();
        self.prune_after(now);
        Completed {
            statuses,
            next: next.and_then(|request| self.claim(now, request)),
        }
    }

    fn complete_one(&mut self, now: Now, completion: Completion) -> OutcomeStatus {
        let JobLease { id, token } = &completion.lease;
        if self.leased(id, *token).is_none() {
            return self.repeated_status(now, &completion.lease, &[OutcomeStatus::Completed]);
        }
        self.forgive(id);
        self.leave_claim(id, OutcomeStatus::Completed, now.ms());
        self.succeed(id, now, completion.result);
        OutcomeStatus::Completed
    }

    pub(crate) fn fail(&mut self, now: Now, failures: &[Failure]) -> Vec<OutcomeStatus> {
        let statuses = failures
            .iter()
            .map(|item| self.fail_one(now, item))
            .collect();
        self.prune_after(now);
        statuses
    }

    fn fail_one(&mut self, now: Now, failure: &Failure) -> OutcomeStatus {
        let JobLease { id, token } = &failure.lease;
        let Some(entry) = self.leased(id, *token) else {
            let same = [
                OutcomeStatus::Retrying,
                OutcomeStatus::Dead,
                OutcomeStatus::Cancelled,
            ];
            return self.repeated_status(now, &failure.lease, &same);
        };
        let (attempt, policy) = (entry.job.attempt, entry.job.retry);
        let is_cancel_requested = entry.job.is_cancel_requested;
        self.forgive(id);
        if is_cancel_requested {
            return self.stop(id, now);
        }
        let next_due = failure.retry.next_due(&policy, attempt, now);
        if let Some(entry) = self.jobs.get_mut(id) {
            entry.job.error = Some(truncate_message(&failure.error).to_owned());
        }
        match next_due {
            Ok(due) => {
                self.leave_claim(id, OutcomeStatus::Retrying, now.ms());
                if let Some(entry) = self.jobs.get_mut(id) {
                    entry.job.attempt += 1;
                    entry.job.started_at = None;
                }
                self.insert_scheduled(id, due);
                OutcomeStatus::Retrying
            }
            Err(reason) => {
                self.leave_claim(id, OutcomeStatus::Dead, now.ms());
                self.mark_dead(id, now, reason);
                OutcomeStatus::Dead
            }
        }
    }

    pub(crate) fn release(&mut self, now: Now, leases: &[JobLease]) -> Vec<OutcomeStatus> {
        let mut back = Vec::new();
        let mut statuses = Vec::new();
        for lease in leases {
            let leased = self.leased(&lease.id, lease.token);
            let is_cancel_requested = leased.map(|entry| entry.job.is_cancel_requested);
            if is_cancel_requested.is_some() {
                self.forgive(&lease.id);
            }
            statuses.push(match is_cancel_requested {
                None => self.repeated_status(
                    now,
                    lease,
                    &[OutcomeStatus::Released, OutcomeStatus::Cancelled],
                ),
                Some(true) => self.stop(&lease.id, now),
                Some(false) => {
                    let order = self.claim_order(&lease.id, lease.token);
                    self.leave_claim(&lease.id, OutcomeStatus::Released, now.ms());
                    back.push((order, lease.id.clone()));
                    OutcomeStatus::Released
                }
            });
        }
        back.sort();
        self.requeue_in_order(back.into_iter().map(|(_, id)| id).collect());
        self.prune_after(now);
        statuses
    }

    pub(crate) fn snooze(&mut self, now: Now, snoozes: &[Snooze]) -> Vec<OutcomeStatus> {
        let statuses = snoozes
            .iter()
            .map(|item| self.snooze_one(now, item))
            .collect();
        self.prune_after(now);
        statuses
    }

    fn snooze_one(&mut self, now: Now, snooze: &Snooze) -> OutcomeStatus {
        let JobLease { id, token } = &snooze.lease;
        let Some(entry) = self.leased(id, *token) else {
            return self.repeated_status(
                now,
                &snooze.lease,
                &[OutcomeStatus::Snoozed, OutcomeStatus::Cancelled],
            );
        };
        let is_cancel_requested = entry.job.is_cancel_requested;
        self.forgive(id);
        if is_cancel_requested {
            return self.stop(id, now);
        }
        self.leave_claim(id, OutcomeStatus::Snoozed, now.ms());
        if let Some(entry) = self.jobs.get_mut(id) {
            entry.job.started_at = None;
        }
        let due: Due = snooze.due;
        self.insert_scheduled(id, due.resolve(now));
        OutcomeStatus::Snoozed
    }

    /// Resets the expiries of a job: its worker survived it and reported an outcome.
    fn forgive(&mut self, id: &JobId) {
        if let Some(entry) = self.jobs.get_mut(id) {
            entry.job.expiries = 0;
        }
    }

    /// Cancels a job whose cancellation was requested, whatever outcome was reported.
    pub(crate) fn stop(&mut self, id: &JobId, now: Now) -> OutcomeStatus {
        self.leave_claim(id, OutcomeStatus::Cancelled, now.ms());
        self.mark_cancelled(id, now);
        OutcomeStatus::Cancelled
    }

    /// The reply to a token that is not valid for the job: the earlier reply to the same verb, or
    /// `LeaseLost`, or `Gone`.
    fn repeated_status(&self, now: Now, lease: &JobLease, same: &[OutcomeStatus]) -> OutcomeStatus {
        let claim = self
            .claims
            .get(&lease.token)
            .filter(|claim| !claim.is_forgotten(now));
        match claim.and_then(|claim| claim.left.get(&lease.id)) {
            Some(status) if same.contains(status) => *status,
            Some(_) => OutcomeStatus::LeaseLost,
            None if self.jobs.contains_key(&lease.id) => OutcomeStatus::LeaseLost,
            None => OutcomeStatus::Gone,
        }
    }

    /// The position of a running job in claim order: token, then index in its claim.
    pub(crate) fn claim_order(&self, id: &JobId, token: Token) -> (u64, i64) {
        let ids = self
            .claims
            .get(&token)
            .map(|claim| claim.ids.as_slice())
            .unwrap_or_default();
        let index = ids
            .iter()
            .position(|claimed| claimed == id)
            .unwrap_or_default();
        (token.number, i64::try_from(index).unwrap_or(i64::MAX))
    }

    /// Adds unfinished jobs to their lanes, keeping their order.
    pub(crate) fn requeue_in_order(&mut self, mut ids: Vec<JobId>) {
        let end = self.requeue_end();
        if end == LaneEnd::Front {
            ids.reverse();
        }
        for id in &ids {
            if let Some(entry) = self.jobs.get_mut(id) {
                entry.job.started_at = None;
            }
            self.insert_ready(id, end);
        }
    }
}
