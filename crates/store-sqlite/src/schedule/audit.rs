//! Finds and repairs damage to schedules: jobs that they follow and that have ended, and pending jobs that
//! nothing will release.

use rusqlite::params;
use windlass_core::limits::PAGE;
use windlass_core::schedule::next_refill;
use windlass_core::store::{Repair, ScheduleRecord};
use windlass_core::{JobId, JobState, ScheduleName, Timestamp};

use crate::error::TxResult;
use crate::row::JobMeta;
use crate::sql::Sql;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    /// Releases a pending job that no schedule has as its waiting job.
    pub(crate) fn audit_pending(&mut self, job: &JobMeta) -> TxResult<Option<Repair>> {
        let record = match &job.schedule {
            Some(name) => self.schedule(name)?,
            None => None,
        };
        if record.is_some_and(|record| record.waiting.as_ref() == Some(&job.id)) {
            return Ok(None);
        }
        self.release_pending(&job.id)?;
        let message = "released: no schedule has it as its waiting job";
        Ok(Some(repair(
            "pending_without_schedule",
            Some(&job.id),
            message.to_owned(),
        )))
    }

    /// Checks one page of schedules, after a name. Returns the last name, unless it was the last page.
    pub(crate) fn audit_schedules(
        &mut self,
        after: &str,
        repairs: &mut Vec<Repair>,
    ) -> TxResult<Option<ScheduleName>> {
        let page = "queue = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
        let key = self.queue.key;
        let names = self.load_all(page, params![key, after, PAGE])?;
        for name in &names {
            self.audit_jobs_of(name, repairs)?;
            self.audit_times_of(name, repairs)?;
        }
        self.save_schedules()?;
        let last = names.last().filter(|_| names.len() == PAGE);
        if last.is_none() {
            let next = self.next_firing()?;
            if self.queue.fires_at != next {
                self.queue.fires_at = next;
                repairs.push(repair(
                    "schedule_time_wrong",
                    None,
                    "of the queue".to_owned(),
                ));
            }
        }
        Ok(last.cloned())
    }

    /// Checks the current and the waiting job.
    fn audit_jobs_of(&mut self, name: &ScheduleName, repairs: &mut Vec<Repair>) -> TxResult<()> {
        let Some(record) = self.schedule(name)? else {
            return Ok(());
        };
        let (current, mut waiting) = (record.current.clone(), record.waiting.clone());
        if let Some(id) = &waiting
            && !self.is_of(name, id, |state| state == JobState::Pending)?
        {
            self.schedule_mut(name)?.waiting = None;
            let message = format!("the schedule {name} does not wait with it any more");
            repairs.push(repair("schedule_job_missing", Some(id), message));
            waiting = None;
        }
        let is_current = |state: JobState| !state.is_final() && state != JobState::Pending;
        let is_ended = match &current {
            Some(id) => !self.is_of(name, id, is_current)?,
            None => waiting.is_some(),
        };
        if !is_ended {
            return Ok(());
        }
        let record = self.schedule_mut(name)?;
        record.current = record.waiting.take();
        if let Some(next) = record.current.clone() {
            self.release_pending(&next)?;
        }
        let message = format!("the schedule {name} does not follow it any more");
        repairs.push(repair("schedule_job_missing", current.as_ref(), message));
        Ok(())
    }

    /// Whether a job belongs to a schedule, and has the right state.
    fn is_of(
        &self,
        name: &ScheduleName,
        id: &JobId,
        is_right: impl Fn(JobState) -> bool,
    ) -> TxResult<bool> {
        let job = self.find(id)?;
        Ok(job.is_some_and(|job| job.schedule.as_ref() == Some(name) && is_right(job.state)))
    }

    /// Checks the columns that are computed from the instants.
    fn audit_times_of(&mut self, name: &ScheduleName, repairs: &mut Vec<Repair>) -> TxResult<()> {
        let stored = self.db.first(
            "SELECT fires_at, refill_at FROM schedule WHERE queue = ?1 AND name = ?2",
            params![self.queue.key, name.as_str()],
            |row| Ok([row.get::<_, Option<u64>>(0)?, row.get(1)?]),
        )?;
        let times = |record: &ScheduleRecord| {
            let refill_at = next_refill(&record.instants, record.known_until);
            [record.fires_at(), refill_at].map(|time| time.map(Timestamp::as_ms))
        };
        if stored != self.schedule(name)?.map(times) {
            self.schedule_mut(name)?;
            let message = format!("of the schedule {name}");
            repairs.push(repair("schedule_time_wrong", None, message));
        }
        Ok(())
    }
}

fn repair(code: &'static str, id: Option<&JobId>, message: String) -> Repair {
    Repair {
        code,
        id: id.cloned(),
        message,
    }
}
