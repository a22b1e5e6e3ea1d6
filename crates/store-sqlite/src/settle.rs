//! complete, fail, release, snooze: the token decides, and a repeat is told the same again.

use rusqlite::params;
use windlass_core::limits::truncate_message;
use windlass_core::{
    ClaimRequest, Completed, Completion, Failure, JobLease, OutcomeStatus, Snooze,
};

use crate::fault::Db;
use crate::finish::Unkept;
use crate::hold::End;
use crate::row::Brief;
use crate::step::Step;

impl Step<'_> {
    pub(crate) fn complete(
        &mut self,
        completions: &[Completion],
        next: Option<&ClaimRequest>,
    ) -> Db<Completed> {
        let mut settled = Vec::with_capacity(completions.len());
        let mut unkept = Unkept::prepare(self.db)?;
        for completion in completions {
            settled.push(self.complete_one(completion, &mut unkept)?);
        }
        self.end_settling()?;
        let next = next
            .map(|request| self.claim(request))
            .transpose()?
            .flatten();
        Ok(Completed {
            statuses: settled,
            next,
        })
    }

    fn complete_one(
        &mut self,
        completion: &Completion,
        unkept: &mut Unkept<'_>,
    ) -> Db<OutcomeStatus> {
        if completion.result.is_none() && self.succeed_unkept(&completion.lease, unkept)? {
            return Ok(OutcomeStatus::Completed);
        }
        let Some(job) = self.held(&completion.lease)? else {
            return self.told_before(&completion.lease, &[OutcomeStatus::Completed]);
        };
        self.leave_claim(&job, OutcomeStatus::Completed)?;
        self.succeed(&job, completion.result.as_ref())?;
        Ok(OutcomeStatus::Completed)
    }

    pub(crate) fn fail(&mut self, failures: &[Failure]) -> Db<Vec<OutcomeStatus>> {
        let mut settled = Vec::with_capacity(failures.len());
        for failure in failures {
            settled.push(self.fail_one(failure)?);
        }
        self.end_settling()?;
        Ok(settled)
    }

    fn fail_one(&mut self, failure: &Failure) -> Db<OutcomeStatus> {
        let Some(mut job) = self.held(&failure.lease)? else {
            let same = [
                OutcomeStatus::Retrying,
                OutcomeStatus::Dead,
                OutcomeStatus::Cancelled,
            ];
            return self.told_before(&failure.lease, &same);
        };
        if job.cancel_requested {
            return self.stop(&job);
        }
        let policy = job.policy()?;
        let error = truncate_message(&failure.error);
        match failure.retry.next_due(&policy, job.attempt, self.now.ms()) {
            Ok(due) => {
                self.leave_claim(&job, OutcomeStatus::Retrying)?;
                self.note_error(&job, error)?;
                job.attempt += 1;
                self.place_scheduled(&job, due.as_ms())?;
                Ok(OutcomeStatus::Retrying)
            }
            Err(reason) => {
                self.leave_claim(&job, OutcomeStatus::Dead)?;
                self.bury(&job, reason, Some(error))?;
                Ok(OutcomeStatus::Dead)
            }
        }
    }

    fn note_error(&mut self, job: &Brief, error: &str) -> Db<()> {
        self.queue
            .figures
            .resize(job.error_bytes, error.len() as u64);
        self.db
            .prepare_cached("UPDATE job SET error = ?2 WHERE key = ?1")?
            .execute(params![job.key, error])?;
        Ok(())
    }

    pub(crate) fn release(&mut self, holds: &[JobLease]) -> Db<Vec<OutcomeStatus>> {
        let mut back = Vec::new();
        let mut settled = Vec::with_capacity(holds.len());
        for hold in holds {
            let is_back = |(_, job): &((u64, usize), Brief)| {
                job.id == hold.id && job.token == Some(hold.token)
            };
            if back.iter().any(is_back) {
                // Named twice in one call: the second is told what the first was.
                settled.push(OutcomeStatus::Released);
                continue;
            }
            settled.push(match self.held(hold)? {
                None => {
                    self.told_before(hold, &[OutcomeStatus::Released, OutcomeStatus::Cancelled])?
                }
                Some(job) if job.cancel_requested => self.stop(&job)?,
                Some(job) => {
                    self.leave_claim(&job, OutcomeStatus::Released)?;
                    back.push((self.place_in_claim(hold)?, job));
                    OutcomeStatus::Released
                }
            });
        }
        back.sort_by_key(|(place, _)| *place);
        self.requeue_in_order(back.into_iter().map(|(_, job)| job).collect())?;
        self.end_settling()?;
        Ok(settled)
    }

    pub(crate) fn snooze(&mut self, snoozes: &[Snooze]) -> Db<Vec<OutcomeStatus>> {
        let mut settled = Vec::with_capacity(snoozes.len());
        for snooze in snoozes {
            settled.push(self.snooze_one(snooze)?);
        }
        self.end_settling()?;
        Ok(settled)
    }

    fn snooze_one(&mut self, snooze: &Snooze) -> Db<OutcomeStatus> {
        let Some(job) = self.held(&snooze.lease)? else {
            return self.told_before(
                &snooze.lease,
                &[OutcomeStatus::Snoozed, OutcomeStatus::Cancelled],
            );
        };
        if job.cancel_requested {
            return self.stop(&job);
        }
        self.leave_claim(&job, OutcomeStatus::Snoozed)?;
        let due = snooze.due.resolve(self.now.ms());
        self.place_scheduled(&job, due.as_ms())?;
        Ok(OutcomeStatus::Snoozed)
    }

    /// A job that was asked to stop has come back: it is cancelled, whatever its holder said.
    fn stop(&mut self, job: &Brief) -> Db<OutcomeStatus> {
        self.leave_claim(job, OutcomeStatus::Cancelled)?;
        self.end_cancelled(job)?;
        Ok(OutcomeStatus::Cancelled)
    }

    fn end_settling(&mut self) -> Db<()> {
        self.settle_claims()?;
        self.prune_step()
    }

    /// Where a held job stands in the order of claims: token, then place in its claim.
    fn place_in_claim(&self, hold: &JobLease) -> Db<(u64, usize)> {
        let ids = self.claimed_ids(hold.token.number)?;
        let index = ids.iter().position(|id| *id == hold.id).unwrap_or_default();
        Ok((hold.token.number, index))
    }

    /// Puts jobs that came back unfinished into their lanes so that they keep their order.
    pub(crate) fn requeue_in_order(&mut self, mut jobs: Vec<Brief>) -> Db<()> {
        let end = self.requeue_end();
        if end == End::Front {
            jobs.reverse();
        }
        for job in &jobs {
            self.place_ready(job, end)?;
        }
        Ok(())
    }
}
