//! cancel, retry, delete, promote, purge: changes by id, unique key, payload or filter.

use rusqlite::params;
use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::{Changed, ChangedJob, Changes, Cursor, JobPage, Requeue};
use windlass_core::{Bytes, Change, Filter, JobId, JobState, Target};

use crate::error::TxResult;
use crate::lane::{HOLDER, NO_HOLDER};
use crate::read;
use crate::row::JobMeta;
use crate::sql::Sql;
use crate::tombstone::Remembered;
use crate::transaction::QueueTx;

impl QueueTx<'_> {
    /// Applies a change to every job of a target, or of one page of it.
    pub(crate) fn change(
        &mut self,
        change: Change,
        target: &Target,
        from: Option<&Cursor>,
    ) -> TxResult<Changes> {
        let named = |items| (JobPage::complete(items), true);
        let (mut page, is_named) = match target {
            Target::Ids(ids) => named(ids.clone()),
            Target::UniqueKey(key) => {
                let Some(job) = self.holder(key.as_str())? else {
                    if change == Change::Delete
                        && let Some(id) = self.free_key(key.as_str())?
                    {
                        let (id, changed) = (Some(id), Changed::Done);
                        let items = vec![ChangedJob { id, changed }];
                        return Ok(JobPage::complete(items));
                    }
                    let (id, changed) = (None, Changed::NotFound);
                    let items = vec![ChangedJob { id, changed }];
                    return Ok(JobPage::complete(items));
                };
                named(vec![job.id])
            }
            Target::Payload(bytes) => (self.same_payload(bytes, from)?, false),
            Target::Filter(filter) => (self.page(filter, from)?, false),
        };
        if !is_named && self.queue.counters.pending > 0 {
            // Pending jobs first: the end of the job that they wait for must not release them.
            let pending = self.pending_jobs(SCAN_PAGE)?;
            let is_other = |id: &JobId| pending.iter().all(|job| job.id != *id);
            page.items.sort_by_cached_key(is_other);
        }
        let mut items = Vec::with_capacity(page.items.len());
        for id in page.items {
            let changed = self.change_one(change, &id)?;
            // Only a job that was asked for by name is reported if it is in the wrong state.
            if is_named || !matches!(changed, Changed::WrongState(_)) {
                let id = Some(id);
                items.push(ChangedJob { id, changed });
            }
        }
        self.prune_after_finish()?;
        Ok(JobPage {
            items,
            next: page.next,
            scanned: page.scanned,
        })
    }

    fn page(&self, filter: &Filter, from: Option<&Cursor>) -> TxResult<JobPage<JobId>> {
        let now = self.now.ms();
        read::page(self.db, self.queue, filter, from, SCAN_PAGE, now)
    }

    /// The jobs of one page with this payload.
    fn same_payload(&self, bytes: &Bytes, from: Option<&Cursor>) -> TxResult<JobPage<JobId>> {
        let seen = self.page(&Filter::default(), from)?;
        let sql = "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2 AND payload_bytes = ?3
               AND ?4 = ifnull(payload, (SELECT bytes FROM large_payload WHERE job = key))";
        let mut items = Vec::new();
        for id in seen.items {
            let params = params![self.queue.key, id.as_str(), bytes.len(), bytes.as_ref()];
            if self.db.has(sql, params)? {
                items.push(id);
            }
        }
        Ok(JobPage {
            items,
            next: seen.next,
            scanned: seen.scanned,
        })
    }

    fn change_one(&mut self, change: Change, id: &JobId) -> TxResult<Changed> {
        match change {
            Change::Cancel => self.cancel(id),
            Change::Retry => self.retry(id),
            Change::Delete => self.delete(id),
            Change::Promote => self.promote(id),
        }
    }

    pub(crate) fn cancel(&mut self, id: &JobId) -> TxResult<Changed> {
        let Some(job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        match job.state {
            JobState::Pending | JobState::Scheduled | JobState::Ready => {
                self.end_cancelled(&job)?;
                Ok(Changed::Done)
            }
            JobState::Running => {
                let sql = "UPDATE job SET cancel_requested = 1 WHERE key = ?1";
                self.db.run(sql, [job.key])?;
                self.announce_cancel(id);
                self.changed();
                Ok(Changed::WillStop)
            }
            state => Ok(Changed::WrongState(state)),
        }
    }

    fn retry(&mut self, id: &JobId) -> TxResult<Changed> {
        let Some(mut job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        if job.state != JobState::Dead {
            return Ok(Changed::WrongState(job.state));
        }
        if let Some(key) = &job.unique_key
            && let Some(holder) = self.key_holder(key)?
            && holder != *id
        {
            return Ok(Changed::Conflict(holder));
        }
        let counters = &mut self.queue.counters;
        counters.remove_finished(job.state, job.bytes());
        self.clear_error(&mut job)?;
        self.drop_tombstone(Remembered::Id(id))?;
        if let Some(key) = &job.unique_key {
            self.drop_tombstone(Remembered::Key(key))?;
        }
        self.db.run(
            "UPDATE job SET attempt = 1, expiries = 0, reason = NULL, expires_at = NULL, finished_at = NULL
             WHERE key = ?1",
            [job.key],
        )?;
        // Counted as scheduled first, because `put_ready` moves a live job.
        self.queue.counters.enter(JobState::Scheduled, job.priority);
        let job = JobMeta {
            state: JobState::Scheduled,
            expiries: 0,
            due_at: self.now_ms(),
            // In a lane that stops at a failure, the job keeps its slot, and so its place.
            lane: if self.holds_slot(&job) {
                HOLDER
            } else {
                NO_HOLDER
            },
            ..job
        };
        self.put_ready(&job, Requeue::Back)?;
        Ok(Changed::Done)
    }

    fn delete(&mut self, id: &JobId) -> TxResult<Changed> {
        match self.find(id)? {
            Some(job) if !job.state.is_final() => return Ok(Changed::WrongState(job.state)),
            Some(job) => {
                self.delete_finished(&job)?;
                // Another job may hold the key by now.
                if let Some(key) = &job.unique_key
                    && self.key_holder(key)?.as_ref() == Some(id)
                {
                    self.drop_tombstone(Remembered::Key(key))?;
                }
            }
            None if self.remembered(Remembered::Id(id))?.is_none() => {
                return Ok(Changed::NotFound);
            }
            None => {}
        }
        self.drop_tombstone(Remembered::Id(id))?;
        self.changed();
        Ok(Changed::Done)
    }

    /// Frees a key that is held after its job ended, and deletes the job if it is stored. Returns its id.
    fn free_key(&mut self, key: &str) -> TxResult<Option<JobId>> {
        let name = Remembered::Key(key);
        let Some(reply) = self.remembered(name)? else {
            return Ok(None);
        };
        self.drop_tombstone(name)?;
        self.changed();
        let id = reply.id().clone();
        // The id may be another job's by now.
        let is_its_job =
            |job: JobMeta| job.state.is_final() && job.unique_key.as_deref() == Some(key);
        if self.find(&id)?.is_some_and(is_its_job) {
            self.delete(&id)?;
        }
        Ok(Some(id))
    }

    fn promote(&mut self, id: &JobId) -> TxResult<Changed> {
        let Some(job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        match job.state {
            JobState::Pending => self.stop_waiting(&job)?,
            JobState::Scheduled => {}
            state => return Ok(Changed::WrongState(state)),
        }
        let job = JobMeta {
            due_at: self.now_ms(),
            ..job
        };
        self.make_ready(&job, Requeue::Back)?;
        Ok(Changed::Done)
    }

    /// Deletes a page of waiting jobs without a trace.
    pub(crate) fn purge(&mut self) -> TxResult<u64> {
        // Pending jobs first: the end of the job that they wait for must not release them.
        let mut waiting = self.pending_jobs(SCAN_PAGE)?;
        for condition in [
            "queue = ?1 AND state = 1 LIMIT ?2",
            "queue = ?1 AND state = 0 LIMIT ?2",
        ] {
            let params = params![self.queue.key, SCAN_PAGE - waiting.len()];
            waiting.extend(JobMeta::select(self.db, condition, params)?);
        }
        for job in &waiting {
            self.queue.counters.leave(job.state, job.priority);
            self.leave_group(job, None)?;
            self.remove(job)?;
            self.end_in_schedule(job, None)?;
        }
        Ok(waiting.len() as u64)
    }
}
