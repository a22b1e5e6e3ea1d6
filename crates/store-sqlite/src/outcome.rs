//! complete, fail, release, snooze: valid only with the current token; a repeated call gets the
//! same reply.

use rusqlite::params;
use windlass_core::limits::truncate_message;
use windlass_core::{ClaimRequest, Completion, Failure, JobLease, OutcomeStatus, Snooze};

use crate::claim::ClaimStep;
use crate::error::TxResult;
use crate::finish::FastPath;
use crate::lease::End;
use crate::row::JobMeta;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    pub(crate) fn complete(
        &mut self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> TxResult<(Vec<OutcomeStatus>, ClaimStep)> {
        let mut statuses = Vec::with_capacity(completions.len());
        let mut fast_path = FastPath::prepare(self.db)?;
        for completion in completions {
            statuses.push(self.complete_one(completion, &mut fast_path)?);
        }
        self.finish_outcomes()?;
        let next = match next {
            Some(request) => self.claim(request)?,
            None => ClaimStep::Done(None),
        };
        Ok((statuses, next))
    }

    fn complete_one(
        &mut self,
        completion: &Completion,
        fast_path: &mut FastPath<'_>,
    ) -> TxResult<OutcomeStatus> {
        if completion.result.is_none() && self.succeed_fast(&completion.lease, fast_path)? {
            return Ok(OutcomeStatus::Completed);
        }
        let Some(job) = self.reported(&completion.lease)? else {
            return self.repeated_status(&completion.lease, &[OutcomeStatus::Completed]);
        };
        self.leave_claim(&job, OutcomeStatus::Completed)?;
        self.succeed(&job, completion.result.as_ref())?;
        Ok(OutcomeStatus::Completed)
    }

    pub(crate) fn fail(&mut self, failures: &[Failure]) -> TxResult<Vec<OutcomeStatus>> {
        let mut statuses = Vec::with_capacity(failures.len());
        for failure in failures {
            statuses.push(self.fail_one(failure)?);
        }
        self.finish_outcomes()?;
        Ok(statuses)
    }

    fn fail_one(&mut self, failure: &Failure) -> TxResult<OutcomeStatus> {
        let Some(mut job) = self.reported(&failure.lease)? else {
            let same = [
                OutcomeStatus::Retrying,
                OutcomeStatus::Dead,
                OutcomeStatus::Cancelled,
            ];
            return self.repeated_status(&failure.lease, &same);
        };
        if job.cancel_requested {
            return self.stop(&job);
        }
        let policy = job.policy()?;
        let error = truncate_message(&failure.error);
        match failure.retry.next_due(&policy, job.attempt, self.now) {
            Ok(due) => {
                self.leave_claim(&job, OutcomeStatus::Retrying)?;
                self.note_error(&job, error)?;
                job.attempt += 1;
                self.make_scheduled(&job, due.as_ms())?;
                Ok(OutcomeStatus::Retrying)
            }
            Err(reason) => {
                self.leave_claim(&job, OutcomeStatus::Dead)?;
                self.end_dead(&job, reason, Some(error))?;
                Ok(OutcomeStatus::Dead)
            }
        }
    }

    fn note_error(&mut self, job: &JobMeta, error: &str) -> TxResult<()> {
        self.queue
            .counters
            .resize(job.error_bytes, error.len() as u64);
        self.db
            .prepare_cached("UPDATE job SET error = ?2 WHERE key = ?1")?
            .execute(params![job.key, error])?;
        Ok(())
    }

    pub(crate) fn release(&mut self, leases: &[JobLease]) -> TxResult<Vec<OutcomeStatus>> {
        let mut back = Vec::new();
        let mut statuses = Vec::with_capacity(leases.len());
        for lease in leases {
            let is_back = |(_, job): &((u64, usize), JobMeta)| {
                job.id == lease.id && job.token == Some(lease.token)
            };
            if back.iter().any(is_back) {
                // Named twice in one call: both get the same status.
                statuses.push(OutcomeStatus::Released);
                continue;
            }
            statuses.push(match self.reported(lease)? {
                None => self
                    .repeated_status(lease, &[OutcomeStatus::Released, OutcomeStatus::Cancelled])?,
                Some(job) if job.cancel_requested => self.stop(&job)?,
                Some(job) => {
                    self.leave_claim(&job, OutcomeStatus::Released)?;
                    back.push((self.claim_order(lease)?, job));
                    OutcomeStatus::Released
                }
            });
        }
        back.sort_by_key(|(order, _)| *order);
        self.requeue_in_order(back.into_iter().map(|(_, job)| job).collect())?;
        self.finish_outcomes()?;
        Ok(statuses)
    }

    pub(crate) fn snooze(&mut self, snoozes: &[Snooze]) -> TxResult<Vec<OutcomeStatus>> {
        let mut statuses = Vec::with_capacity(snoozes.len());
        for snooze in snoozes {
            statuses.push(self.snooze_one(snooze)?);
        }
        self.finish_outcomes()?;
        Ok(statuses)
    }

    fn snooze_one(&mut self, snooze: &Snooze) -> TxResult<OutcomeStatus> {
        let Some(job) = self.reported(&snooze.lease)? else {
            return self.repeated_status(
                &snooze.lease,
                &[OutcomeStatus::Snoozed, OutcomeStatus::Cancelled],
            );
        };
        if job.cancel_requested {
            return self.stop(&job);
        }
        self.leave_claim(&job, OutcomeStatus::Snoozed)?;
        let due = snooze.due.resolve(self.now);
        self.make_scheduled(&job, due.as_ms())?;
        Ok(OutcomeStatus::Snoozed)
    }

    /// The leased job that an outcome is reported for. Its expiries are reset: its worker survived it.
    fn reported(&self, lease: &JobLease) -> TxResult<Option<JobMeta>> {
        let job = self.leased(lease)?;
        Ok(job.map(|job| JobMeta { expiries: 0, ..job }))
    }

    /// A job that was asked to stop is cancelled, whatever outcome its worker reports.
    fn stop(&mut self, job: &JobMeta) -> TxResult<OutcomeStatus> {
        self.leave_claim(job, OutcomeStatus::Cancelled)?;
        self.end_cancelled(job)?;
        Ok(OutcomeStatus::Cancelled)
    }

    fn finish_outcomes(&mut self) -> TxResult<()> {
        self.update_claims()?;
        self.prune_after_finish()
    }

    /// The sort key of a leased job in claim order: token, then index in its claim.
    fn claim_order(&self, lease: &JobLease) -> TxResult<(u64, usize)> {
        let ids = self.claimed_ids(lease.token.number)?;
        let index = ids
            .iter()
            .position(|id| *id == lease.id)
            .unwrap_or_default();
        Ok((lease.token.number, index))
    }

    /// Puts unfinished jobs back into their lanes, keeping their order.
    pub(crate) fn requeue_in_order(&mut self, mut jobs: Vec<JobMeta>) -> TxResult<()> {
        let end = self.requeue_end();
        if end == End::Front {
            jobs.reverse();
        }
        for job in &jobs {
            self.make_ready(job, end)?;
        }
        Ok(())
    }
}
