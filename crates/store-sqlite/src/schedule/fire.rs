//! Fires the due instants of schedules, and follows their jobs to the end.

use std::path::Path;

use rusqlite::{Connection, params};
use windlass_core::schedule::DueInstants;
use windlass_core::store::{Filter, Overlap, Requeue, ScheduleRecord, SkipReason};
use windlass_core::{JobId, JobState, NewJob, ScheduleName, Timestamp};

use super::row::select;
use crate::error::{TxError, TxResult};
use crate::read;
use crate::row::JobMeta;
use crate::space;
use crate::transaction::{QueueRow, QueueTx};

/// Returns whether a due instant waits for disk space.
pub(crate) fn waits_for_space(
    db: &Connection,
    path: &Path,
    queue: &QueueRow,
    now: Timestamp,
) -> TxResult<bool> {
    if queue.fires_at.is_none_or(|at| at > now.as_ms()) {
        return Ok(false);
    }
    let first = "queue = ?1 AND fires_at <= ?2 ORDER BY fires_at, name LIMIT 1";
    let Some(mut record) = select(db, first, params![queue.key, now.as_ms()])?.pop() else {
        return Ok(false);
    };
    let due = record.take_due(now);
    let shortage = space::shortage(path, payload_bytes(&record, &due), || space::free_bytes(db));
    Ok(shortage?.is_some())
}

/// The size of the jobs that fire, at most: some may overlap.
fn payload_bytes(record: &ScheduleRecord, due: &DueInstants) -> u64 {
    let jobs = due.iter().filter(|(_, fires)| *fires).count();
    jobs.saturating_mul(record.schedule.job.payload.len()) as u64
}

impl QueueTx<'_> {
    /// Settles the due instants of schedules, ordered by time, then name, until `limit` are settled. On a disk
    /// that is nearly full they stay due, because their jobs would use up the reserve for workers.
    pub(crate) fn fire_due(&mut self, limit: usize) -> TxResult<u64> {
        let (key, now_ms) = (self.queue.key, self.now_ms());
        if self.queue.fires_at.is_none_or(|at| at > now_ms) || !self.take_room(0)? {
            return Ok(0);
        }
        let due = "queue = ?1 AND fires_at <= ?2 ORDER BY fires_at, name LIMIT ?3";
        let due = self.load_all(due, params![key, now_ms, limit])?;
        let mut settled = 0;
        for name in due {
            if settled >= limit {
                break;
            }
            let Some(due) = self.take_due(&name)? else {
                break;
            };
            settled += self.settle_due(&name, &due)?;
        }
        self.save_schedules()?;
        Ok(settled as u64)
    }

    /// Takes the due instants of a schedule. Returns `None`, and takes none, if there is no room for their jobs.
    fn take_due(&mut self, name: &ScheduleName) -> TxResult<Option<DueInstants>> {
        let now = self.now.ms();
        let Some(loaded) = self.load(name)? else {
            return Err(TxError::corrupt("schedule", name));
        };
        let instants = loaded.record.instants.clone();
        let due = loaded.record.take_due(now);
        let bytes = payload_bytes(&loaded.record, &due);
        if self.take_room(bytes)? {
            return Ok(Some(due));
        }
        if let Some(loaded) = self.load(name)? {
            loaded.record.instants = instants;
        }
        Ok(None)
    }

    /// Settles the due instants of a schedule. Returns how many; waiting for a refill counts as one.
    fn settle_due(&mut self, name: &ScheduleName, due: &DueInstants) -> TxResult<usize> {
        let now = self.now.ms();
        // Without instants, the schedule waits for a refill.
        self.schedule_mut(name)?;
        let mut settled = 0;
        for (instant, fires) in due.iter() {
            let record = self.schedule_mut(name)?;
            record.settled_until = instant.at;
            let firing = if record.is_paused {
                Err(SkipReason::Paused)
            } else if record.has_ended() {
                break;
            } else if fires {
                let overlap = record.schedule.overlap;
                let id = JobId::at_instant(name, instant.at);
                self.fire_instant(name, instant.at, id, overlap)?
            } else {
                Err(SkipReason::Missed)
            };
            let record = self.schedule_mut(name)?;
            record.settle(instant.at, now, firing);
            settled += 1;
        }
        Ok(settled.max(1))
    }

    fn fire_instant(
        &mut self,
        name: &ScheduleName,
        instant: Timestamp,
        id: JobId,
        overlap: Overlap,
    ) -> TxResult<Result<JobId, SkipReason>> {
        let new = self.job_at(name, instant, id)?;
        if self.existing(&new)?.is_some() {
            return Ok(Err(SkipReason::Duplicate));
        }
        let firing = self.enqueue_scheduled(name, &new, Some(overlap))?;
        Ok(firing.map(|_| new.id))
    }

    /// The job of a schedule for an instant.
    pub(super) fn job_at(
        &mut self,
        name: &ScheduleName,
        instant: Timestamp,
        id: JobId,
    ) -> TxResult<NewJob> {
        let job = self.schedule(name)?;
        let job = job.and_then(|record| record.schedule.job_at(instant, id).ok());
        job.ok_or_else(|| TxError::corrupt("schedule", name))
    }

    /// Enqueues a new job of a schedule. Without `overlap` it does not count as its current job.
    pub(super) fn enqueue_scheduled(
        &mut self,
        name: &ScheduleName,
        new: &NewJob,
        overlap: Option<Overlap>,
    ) -> TxResult<Result<JobState, SkipReason>> {
        if let Some(overlap) = overlap
            && let Err(reason) = self.make_room(name, overlap)?
        {
            return Ok(Err(reason));
        }
        let record = self.schedule_mut(name)?;
        let must_wait =
            overlap.is_some_and(|overlap| overlap != Overlap::Allow) && record.current.is_some();
        if must_wait {
            record.waiting = Some(new.id.clone());
        } else if overlap.is_some() && record.waiting.is_none() {
            // A job that waits since the policy was changed still waits for the current one.
            record.current = Some(new.id.clone());
        }
        let state = if must_wait {
            JobState::Pending
        } else {
            self.state_when_due(new)
        };
        self.add_scheduled(new, state)?;
        Ok(Ok(state))
    }

    /// Applies the overlap policy to the jobs of a schedule that have not ended.
    fn make_room(
        &mut self,
        name: &ScheduleName,
        overlap: Overlap,
    ) -> TxResult<Result<(), SkipReason>> {
        let record = self.schedule_mut(name)?;
        let (current, waiting) = (record.current.clone(), record.waiting.clone());
        match (overlap, current, waiting) {
            (Overlap::Skip, Some(_), _) | (Overlap::Buffer, Some(_), Some(_)) => {
                return Ok(Err(SkipReason::Overlap));
            }
            (Overlap::Cancel, Some(current), waiting) => {
                for id in waiting.into_iter().chain([current]) {
                    self.cancel(&id)?;
                }
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// Records that a job ended in a state or was purged, and releases the job that waits for it.
    pub(crate) fn end_in_schedule(
        &mut self,
        job: &JobMeta,
        state: Option<JobState>,
    ) -> TxResult<()> {
        let Some(name) = &job.schedule else {
            return Ok(());
        };
        let Some(record) = self.schedule(name)? else {
            return Ok(());
        };
        if ![&record.current, &record.waiting].contains(&&Some(job.id.clone())) {
            return Ok(());
        }
        let at = self.now.ms();
        let next = self.schedule_mut(name)?.end_job(&job.id, state, at);
        match next.cloned() {
            Some(next) => self.release_pending(&next),
            None => Ok(()),
        }
    }

    /// Makes a pending job ready, or scheduled if it is due later.
    pub(super) fn release_pending(&mut self, id: &JobId) -> TxResult<()> {
        let job = self.find(id)?;
        match job.filter(|job| job.state == JobState::Pending) {
            None => Ok(()),
            Some(job) if job.due_at <= self.now_ms() => self.make_ready(&job, Requeue::Back),
            Some(job) => self.make_scheduled(&job, job.due_at),
        }
    }

    /// Makes a pending job the current one of its schedule, before it is promoted by hand.
    pub(crate) fn stop_waiting(&mut self, job: &JobMeta) -> TxResult<()> {
        if let Some(name) = &job.schedule
            && self.schedule(name)?.is_some()
        {
            let record = self.schedule_mut(name)?;
            record.waiting = None;
            record.current = Some(job.id.clone());
        }
        Ok(())
    }

    /// Up to `limit` pending jobs.
    pub(crate) fn pending_jobs(&self, limit: usize) -> TxResult<Vec<JobMeta>> {
        let filter = Filter {
            state: Some(JobState::Pending),
            ..Filter::default()
        };
        let page = read::page(self.db, self.queue, &filter, None, limit, self.now.ms())?;
        let jobs = page.items.iter().map(|id| self.find(id));
        Ok(jobs
            .collect::<TxResult<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }
}
