//! complete, fail, release, snooze: valid only with the current token; a repeated call gets the
//! same reply.

use windlass_core::OutcomeStatus::{self, Cancelled, Completed, Dead, Released, Retrying, Snoozed};
use windlass_core::limits::truncate_message;
use windlass_core::store::{AttemptEnd, Completion, Failure, Snooze, SnoozeScope};
use windlass_core::{ClaimRequest, JobLease, Result};

use crate::claim::ClaimStep;
use crate::error::TxResult;
use crate::finish::FastPath;
use crate::row::JobMeta;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    pub(crate) fn complete(
        &mut self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> TxResult<Result<(Vec<OutcomeStatus>, ClaimStep)>> {
        let mode = next.map(|next| next.mode);
        if let Some(Err(refused)) = mode.map(|mode| self.queue.settings.check_claim(mode)) {
            return Ok(Err(refused));
        }
        let mut fast_path = FastPath::prepare(self.db, self.queue.counters.grouped_running > 0)?;
        let complete = |tx: &mut Self, one: &Completion| tx.complete_one(one, &mut fast_path);
        let statuses = self.each(completions, complete)?;
        let next = match next {
            Some(request) => self.claim(request)?,
            None => ClaimStep::Done(None),
        };
        Ok(Ok((statuses, next)))
    }

    fn complete_one(
        &mut self,
        completion: &Completion,
        fast_path: &mut FastPath<'_>,
    ) -> TxResult<OutcomeStatus> {
        if completion.result.is_none() && self.succeed_fast(&completion.lease, fast_path)? {
            return Ok(Completed);
        }
        let Some(job) = self.reported(&completion.lease)? else {
            return self.repeated_status(&completion.lease, &[Completed]);
        };
        self.leave_claim(&job, Completed)?;
        self.succeed(&job, completion.result.as_ref())?;
        Ok(Completed)
    }

    pub(crate) fn fail(&mut self, failures: &[Failure]) -> TxResult<Vec<OutcomeStatus>> {
        self.each(failures, |tx, failure| {
            let same = [Retrying, Dead, Cancelled];
            tx.unless_stopped(&failure.lease, &same, |tx, job| tx.fail_one(job, failure))
        })
    }

    fn fail_one(&mut self, mut job: JobMeta, failure: &Failure) -> TxResult<OutcomeStatus> {
        self.queue.counters.failed += 1;
        let policy = job.policy()?;
        let error = truncate_message(&failure.error);
        self.record_attempt(&mut job, AttemptEnd::Failed, Some(error))?;
        self.count_error(&job, error)?;
        match failure.retry.next_due(&policy, job.attempt, self.now) {
            Ok(due) => {
                self.leave_claim(&job, Retrying)?;
                job.attempt += 1;
                self.make_scheduled(&job, due.as_ms())?;
                Ok(Retrying)
            }
            Err(reason) => {
                self.leave_claim(&job, Dead)?;
                self.end_dead(&job, reason)?;
                Ok(Dead)
            }
        }
    }

    pub(crate) fn release(&mut self, leases: &[JobLease]) -> TxResult<Vec<OutcomeStatus>> {
        let mut back: Vec<((u64, usize), JobMeta)> = Vec::new();
        let mut statuses = Vec::with_capacity(leases.len());
        for lease in leases {
            if is_named_in(&back, lease) {
                statuses.push(Released);
                continue;
            }
            statuses.push(
                self.unless_stopped(lease, &[Released, Cancelled], |tx, job| {
                    tx.leave_claim(&job, Released)?;
                    back.push((tx.claim_order(lease)?, job));
                    Ok(Released)
                })?,
            );
        }
        self.requeue_in_claim_order(back)?;
        Ok(statuses)
    }

    pub(crate) fn snooze(&mut self, snoozes: &[Snooze]) -> TxResult<Vec<OutcomeStatus>> {
        let mut back: Vec<((u64, usize), JobMeta)> = Vec::new();
        let mut statuses = Vec::with_capacity(snoozes.len());
        for Snooze { lease, due, scope } in snoozes {
            if is_named_in(&back, lease) {
                statuses.push(Snoozed);
                continue;
            }
            let until = due.resolve(self.now);
            let snooze = |tx: &mut Self, job: JobMeta| {
                tx.leave_claim(&job, Snoozed)?;
                match (scope, &job.group) {
                    (SnoozeScope::Queue, _) => {
                        let resting_until = &mut tx.queue.counters.resting_until;
                        *resting_until = until.as_ms().max(*resting_until);
                    }
                    (SnoozeScope::Group, Some(group)) => tx.rest_group(group, until)?,
                    (SnoozeScope::Job | SnoozeScope::Group, _) => {
                        tx.make_scheduled(&job, until.as_ms())?;
                        return Ok(Snoozed);
                    }
                }
                back.push((tx.claim_order(lease)?, job));
                Ok(Snoozed)
            };
            statuses.push(self.unless_stopped(lease, &[Snoozed, Cancelled], snooze)?);
        }
        self.requeue_in_claim_order(back)?;
        Ok(statuses)
    }

    /// Returns jobs that left their claims to the queue.
    fn requeue_in_claim_order(&mut self, mut back: Vec<((u64, usize), JobMeta)>) -> TxResult<()> {
        back.sort_by_key(|(order, _)| *order);
        self.requeue_in_order(back.into_iter().map(|(_, job)| job).collect())?;
        self.finish_outcomes()
    }

    /// Records the outcomes of one call.
    fn each<T>(
        &mut self,
        outcomes: &[T],
        mut record: impl FnMut(&mut Self, &T) -> TxResult<OutcomeStatus>,
    ) -> TxResult<Vec<OutcomeStatus>> {
        let statuses = outcomes.iter().map(|outcome| record(self, outcome));
        let statuses = statuses.collect::<TxResult<_>>()?;
        self.finish_outcomes()?;
        Ok(statuses)
    }

    fn finish_outcomes(&mut self) -> TxResult<()> {
        self.update_claims()?;
        self.prune_after_finish()
    }

    /// Records the outcome of an attempt that did not succeed. A job that was asked to stop is
    /// cancelled, whatever outcome its worker reports.
    fn unless_stopped(
        &mut self,
        lease: &JobLease,
        same: &[OutcomeStatus],
        record: impl FnOnce(&mut Self, JobMeta) -> TxResult<OutcomeStatus>,
    ) -> TxResult<OutcomeStatus> {
        match self.reported(lease)? {
            None => self.repeated_status(lease, same),
            Some(job) if job.cancel_requested => {
                self.leave_claim(&job, Cancelled)?;
                self.end_cancelled(&job)?;
                Ok(Cancelled)
            }
            Some(job) => record(self, job),
        }
    }

    /// The leased job that an outcome is reported for. Its expiries are reset: its worker survived it.
    fn reported(&self, lease: &JobLease) -> TxResult<Option<JobMeta>> {
        let job = self.leased(lease)?;
        Ok(job.map(|job| JobMeta { expiries: 0, ..job }))
    }

    /// The sort key of a leased job in claim order: token, then index in its claim.
    fn claim_order(&self, lease: &JobLease) -> TxResult<(u64, usize)> {
        let ids = self.claimed_ids(lease.token.number)?;
        let index = ids.iter().position(|id| *id == lease.id);
        Ok((lease.token.number, index.unwrap_or_default()))
    }
}

/// Whether a lease is named twice in one call: both get the same status.
fn is_named_in(back: &[((u64, usize), JobMeta)], lease: &JobLease) -> bool {
    let is_same = |job: &JobMeta| job.id == lease.id && job.token == Some(lease.token);
    back.iter().any(|(_, job)| is_same(job))
}
