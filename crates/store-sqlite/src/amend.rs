//! Replaces or postpones a waiting job, if an enqueue with its id or unique key asks for that.

use rusqlite::params;
use windlass_core::store::{DurabilityLevel, OnDuplicate, Requeue};
use windlass_core::time::as_ms;
use windlass_core::{Bytes, Enqueued, Job, JobState, NewJob, Timestamp};

use crate::error::{TxError, TxResult};
use crate::lane::NO_HOLDER;
use crate::row::{self, Blobs, INLINE_BYTES_MAX, JobMeta};
use crate::sql::Sql;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    /// Replaces or postpones a waiting job. Returns `None` if nothing is to be changed.
    pub(crate) fn amend(
        &mut self,
        found: &JobMeta,
        new: &NewJob,
        level: DurabilityLevel,
    ) -> TxResult<Option<Enqueued>> {
        // A generated id belongs to one call: this one repeats the call that stored the job.
        let is_repeated = found.id == new.id && !new.is_named;
        if new.on_duplicate == OnDuplicate::Keep || is_repeated || !found.state.is_waiting() {
            return Ok(None);
        }
        let stored = "key = ?1";
        let stored = row::select_jobs(self.db, &self.queue.name, Blobs::Skip, stored, [found.key])?;
        let hidden = || TxError::Damaged(format!("cannot read job {}", found.id));
        let (before, mut job) = stored.into_iter().next().ok_or_else(hidden)?;
        let due = new.postpones(&job, self.now);
        let replaces = new.on_duplicate.replaces();
        if due.is_none() && !replaces {
            return Ok(None);
        }
        if new.keep_outcome {
            self.keep_outcome_of(&job.id)?;
        }
        if replaces {
            job.replace(new.clone(), self.now);
            self.replace_content(&before, &job)?;
        }
        let (id, state) = (job.id.clone(), self.move_amended(&before, &job, due)?);
        self.changed();
        let reply = if replaces {
            Enqueued::Replaced { id, state, level }
        } else {
            Enqueued::Postponed { id, state, level }
        };
        if new.id != *reply.id() {
            self.remember_amendment(new, &reply)?;
        }
        Ok(Some(reply))
    }

    /// Moves a job that was changed to where it waits now. Returns its state.
    fn move_amended(
        &mut self,
        before: &JobMeta,
        job: &Job,
        due: Option<Timestamp>,
    ) -> TxResult<JobState> {
        let is_moved = job.group != before.group;
        let amended = JobMeta {
            priority: job.priority,
            attempt: job.attempt,
            expiries: job.expiries,
            group: job.group.clone(),
            lane: lane_after(before, job),
            ..before.clone()
        };
        let is_same_lane = !is_moved && self.lane_in_line(&amended) == self.lane_in_line(before);
        let state = due
            .filter(|_| job.state != JobState::Pending)
            .map_or(job.state, |_| JobState::Scheduled);
        if is_moved {
            self.leave_group(before, None)?;
        } else if !is_same_lane || state != job.state {
            self.leave_group(before, Some(state))?;
        } else if let Some(group) = job.group.as_ref().filter(|_| state == JobState::Ready) {
            self.refresh_first_job(group)?;
        }
        match (job.state, due) {
            (JobState::Pending, Some(due)) => {
                let sql = "UPDATE job SET due_at = ?2 WHERE key = ?1";
                self.db.run(sql, params![before.key, due.as_ms()])?;
            }
            (_, Some(due)) => {
                self.put_scheduled(&amended, due.as_ms())?;
                return Ok(JobState::Scheduled);
            }
            (JobState::Ready, None) if !is_same_lane => {
                self.put_ready(&amended, Requeue::Back)?;
            }
            _ => {}
        }
        Ok(job.state)
    }

    /// Writes the new content of a job.
    fn replace_content(&mut self, before: &JobMeta, job: &Job) -> TxResult<()> {
        let payload = job.payload.as_ref().map_or(&[][..], Bytes::as_ref);
        let is_large = payload.len() > INLINE_BYTES_MAX;
        self.db.run(
            "UPDATE job SET kind = ?2, headers = ?3, retry = ?4, timeout_ms = ?5, expires_at = ?6,
                            priority = ?7, attempt = ?8, expiries = ?9, error = NULL,
                            payload_bytes = ?10, payload = ?11, group_name = ?12, lane = ?13
             WHERE key = ?1",
            params![
                before.key,
                job.kind.as_ref().map(|kind| kind.as_str()),
                row::write_headers(&job.headers),
                row::write_policy(&job.retry),
                job.timeout.map(as_ms),
                job.expires_at.map(Timestamp::as_ms),
                job.priority.level(),
                job.attempt,
                job.expiries,
                payload.len(),
                (!is_large).then_some(payload),
                job.group.as_ref().map(|group| group.as_str()),
                lane_after(before, job),
            ],
        )?;
        if before.is_large {
            self.drop_large_payload(before.key)?;
        }
        if is_large {
            self.add_large_payload(before.key, payload)?;
        }
        let counters = &mut self.queue.counters;
        counters.leave(before.state, before.priority);
        counters.enter(before.state, job.priority);
        counters.resize(before.bytes(), payload.len() as u64);
        Ok(())
    }
}

/// The lane of a waiting job that was replaced: one that changes its group leaves its slot.
fn lane_after(before: &JobMeta, job: &Job) -> i64 {
    if job.group == before.group {
        before.lane
    } else {
        NO_HOLDER
    }
}
