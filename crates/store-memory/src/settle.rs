//! complete, fail, release, snooze: the token decides, and a repeat is told the same again.

use windlass_core::limits::{CLAIM_TOMBSTONE, cut_message};
use windlass_core::time::Now;
use windlass_core::{
    ClaimRequest, Completed, Completion, Due, Failure, JobId, JobLease, OutcomeStatus, Snooze,
    Token,
};

use crate::queue::{ClaimRecord, End, Queue};

impl ClaimRecord {
    /// Finished so long ago that repeats are no longer told.
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
        self.prune_step(now);
        Completed {
            statuses,
            next: next.and_then(|request| self.claim(now, request)),
        }
    }

    fn complete_one(&mut self, now: Now, completion: Completion) -> OutcomeStatus {
        let JobLease { id, token } = &completion.lease;
        if self.held(id, *token).is_none() {
            return self.told_before(now, &completion.lease, &[OutcomeStatus::Completed]);
        }
        self.leave_claim(id, OutcomeStatus::Completed, now.ms());
        self.succeed(id, now, completion.result);
        OutcomeStatus::Completed
    }

    pub(crate) fn fail(&mut self, now: Now, failures: &[Failure]) -> Vec<OutcomeStatus> {
        let settled = failures
            .iter()
            .map(|item| self.fail_one(now, item))
            .collect();
        self.prune_step(now);
        settled
    }

    fn fail_one(&mut self, now: Now, failure: &Failure) -> OutcomeStatus {
        let JobLease { id, token } = &failure.lease;
        let Some(entry) = self.held(id, *token) else {
            let same = [
                OutcomeStatus::Retrying,
                OutcomeStatus::Dead,
                OutcomeStatus::Cancelled,
            ];
            return self.told_before(now, &failure.lease, &same);
        };
        if entry.job.is_cancel_requested {
            return self.stop(id, now);
        }
        let (attempt, policy) = (entry.job.attempt, entry.job.retry);
        let verdict = failure.retry.verdict(&policy, attempt, now.ms());
        if let Some(entry) = self.jobs.get_mut(id) {
            entry.job.error = Some(cut_message(&failure.error).to_owned());
        }
        match verdict {
            Ok(due) => {
                self.leave_claim(id, OutcomeStatus::Retrying, now.ms());
                if let Some(entry) = self.jobs.get_mut(id) {
                    entry.job.attempt += 1;
                    entry.job.started_at = None;
                }
                self.place_scheduled(id, due);
                OutcomeStatus::Retrying
            }
            Err(reason) => {
                self.leave_claim(id, OutcomeStatus::Dead, now.ms());
                self.bury(id, now, reason);
                OutcomeStatus::Dead
            }
        }
    }

    pub(crate) fn release(&mut self, now: Now, holds: &[JobLease]) -> Vec<OutcomeStatus> {
        let mut back = Vec::new();
        let mut settled = Vec::new();
        for hold in holds {
            settled.push(match self.held(&hold.id, hold.token) {
                None => self.told_before(
                    now,
                    hold,
                    &[OutcomeStatus::Released, OutcomeStatus::Cancelled],
                ),
                Some(entry) if entry.job.is_cancel_requested => self.stop(&hold.id, now),
                Some(_) => {
                    let place = self.place_in_claim(&hold.id, hold.token);
                    self.leave_claim(&hold.id, OutcomeStatus::Released, now.ms());
                    back.push((place, hold.id.clone()));
                    OutcomeStatus::Released
                }
            });
        }
        back.sort();
        self.requeue_in_order(back.into_iter().map(|(_, id)| id).collect());
        self.prune_step(now);
        settled
    }

    pub(crate) fn snooze(&mut self, now: Now, snoozes: &[Snooze]) -> Vec<OutcomeStatus> {
        let settled = snoozes
            .iter()
            .map(|item| self.snooze_one(now, item))
            .collect();
        self.prune_step(now);
        settled
    }

    fn snooze_one(&mut self, now: Now, snooze: &Snooze) -> OutcomeStatus {
        let JobLease { id, token } = &snooze.lease;
        let Some(entry) = self.held(id, *token) else {
            return self.told_before(
                now,
                &snooze.lease,
                &[OutcomeStatus::Snoozed, OutcomeStatus::Cancelled],
            );
        };
        if entry.job.is_cancel_requested {
            return self.stop(id, now);
        }
        self.leave_claim(id, OutcomeStatus::Snoozed, now.ms());
        if let Some(entry) = self.jobs.get_mut(id) {
            entry.job.started_at = None;
        }
        let due: Due = snooze.due;
        self.place_scheduled(id, due.resolve(now.ms()));
        OutcomeStatus::Snoozed
    }

    /// A job that was asked to stop has come back: it is cancelled, whatever its holder said.
    pub(crate) fn stop(&mut self, id: &JobId, now: Now) -> OutcomeStatus {
        self.leave_claim(id, OutcomeStatus::Cancelled, now.ms());
        self.end_cancelled(id, now);
        OutcomeStatus::Cancelled
    }

    /// The answer to a token that does not hold the job: what the same verb was told before, or
    /// that the hold is lost, or that the job is gone.
    fn told_before(&self, now: Now, hold: &JobLease, same: &[OutcomeStatus]) -> OutcomeStatus {
        let claim = self
            .claims
            .get(&hold.token)
            .filter(|claim| !claim.is_forgotten(now));
        match claim.and_then(|claim| claim.left.get(&hold.id)) {
            Some(how) if same.contains(how) => *how,
            Some(_) => OutcomeStatus::LeaseLost,
            None if self.jobs.contains_key(&hold.id) => OutcomeStatus::LeaseLost,
            None => OutcomeStatus::Gone,
        }
    }

    /// Where a held job stands in the order of claims: token, then place in its claim.
    pub(crate) fn place_in_claim(&self, id: &JobId, token: Token) -> (u64, i64) {
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

    /// Puts jobs that came back unfinished into their lanes so that they keep their order.
    pub(crate) fn requeue_in_order(&mut self, mut ids: Vec<JobId>) {
        let end = self.requeue_end();
        if end == End::Front {
            ids.reverse();
        }
        for id in &ids {
            if let Some(entry) = self.jobs.get_mut(id) {
                entry.job.started_at = None;
            }
            self.place_ready(id, end);
        }
    }
}
