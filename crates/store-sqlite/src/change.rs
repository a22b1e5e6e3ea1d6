//! cancel, retry, delete, promote, purge: what operators do, by id, key, payload or filter.

use rusqlite::params;
use windlass_core::limits::SCAN_PAGE;
use windlass_core::{
    Bytes, Changed, ChangedJob, Changes, Cursor, Filter, JobId, JobState, Page, Target,
};

use crate::fault::Db;
use crate::hold::End;
use crate::look;
use crate::row::{Brief, select_brief};
use crate::step::Step;

/// What to do to each job of a target.
pub(crate) type Change = fn(&mut Step<'_>, &JobId) -> Db<Changed>;

impl Step<'_> {
    /// Does one thing to every job of a target, or of one page of it.
    pub(crate) fn change(
        &mut self,
        change: Change,
        target: &Target,
        from: Option<&Cursor>,
    ) -> Db<Changes> {
        let changes = match target {
            Target::Ids(ids) => {
                let mut items = Vec::with_capacity(ids.len());
                for id in ids {
                    items.push(ChangedJob {
                        id: Some(id.clone()),
                        changed: change(self, id)?,
                    });
                }
                Page { items, next: None }
            }
            Target::UniqueKey(key) => {
                let id = self.holder(key.as_str())?.map(|job| job.id);
                let changed = match &id {
                    Some(id) => change(self, id)?,
                    None => Changed::NotFound,
                };
                Page {
                    items: vec![ChangedJob { id, changed }],
                    next: None,
                }
            }
            Target::Payload(bytes) => {
                let page = self.same_payload(bytes, from)?;
                self.change_page(change, page)?
            }
            Target::Filter(filter) => {
                let page = look::page(self.db, self.queue, filter, from, SCAN_PAGE)?;
                self.change_page(change, page)?
            }
        };
        self.prune_step()?;
        Ok(changes)
    }

    /// Jobs that a page meets and that the change does not fit are passed by.
    fn change_page(&mut self, change: Change, page: Page<JobId>) -> Db<Changes> {
        let mut items = Vec::new();
        for id in page.items {
            let changed = change(self, &id)?;
            if !matches!(changed, Changed::WrongState(_)) {
                items.push(ChangedJob {
                    id: Some(id),
                    changed,
                });
            }
        }
        Ok(Page {
            items,
            next: page.next,
        })
    }

    /// The jobs of one page whose bytes are these.
    fn same_payload(&self, bytes: &Bytes, from: Option<&Cursor>) -> Db<Page<JobId>> {
        let seen = look::page(self.db, self.queue, &Filter::default(), from, SCAN_PAGE)?;
        let mut items = Vec::new();
        let mut statement = self.db.prepare_cached(
            "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2 AND payload_bytes = ?3
               AND ?4 = ifnull(payload, (SELECT bytes FROM large_payload WHERE job = key))",
        )?;
        for id in seen.items {
            let params = params![self.queue.key, id.as_str(), bytes.len(), bytes.as_ref()];
            if statement.exists(params)? {
                items.push(id);
            }
        }
        Ok(Page {
            items,
            next: seen.next,
        })
    }

    fn find(&self, id: &JobId) -> Db<Option<Brief>> {
        Brief::find(self.db, self.queue.key, id.as_str())
    }

    pub(crate) fn cancel(&mut self, id: &JobId) -> Db<Changed> {
        let Some(job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        match job.state {
            JobState::Scheduled | JobState::Ready => {
                self.end_cancelled(&job)?;
                Ok(Changed::Done)
            }
            JobState::Running => {
                self.db
                    .prepare_cached("UPDATE job SET cancel_requested = 1 WHERE key = ?1")?
                    .execute([job.key])?;
                self.announce_cancel(id);
                self.changed();
                Ok(Changed::WillStop)
            }
            state => Ok(Changed::WrongState(state)),
        }
    }

    pub(crate) fn retry(&mut self, id: &JobId) -> Db<Changed> {
        let Some(job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        if job.state != JobState::Dead {
            return Ok(Changed::WrongState(job.state));
        }
        if let Some(key) = &job.unique_key
            && let Some(holder) = self.holder(key)?
        {
            return Ok(Changed::Conflict(holder.id));
        }
        self.uncount(&job);
        self.queue.figures.resize(job.error_bytes, 0);
        self.forget_id(id)?;
        self.db
            .prepare_cached(
                "UPDATE job SET attempt = 1, expiries = 0, error = NULL, reason = NULL,
                                expires_at = NULL, finished_at = NULL
                 WHERE key = ?1",
            )?
            .execute([job.key])?;
        // It comes out of nowhere, as a new job does: counted as scheduled on its way to ready.
        self.queue.figures.came(JobState::Scheduled, job.priority);
        let job = Brief {
            state: JobState::Scheduled,
            expiries: 0,
            due_at: self.now_ms(),
            ..job
        };
        self.place_ready(&job, End::Back)?;
        Ok(Changed::Done)
    }

    pub(crate) fn delete(&mut self, id: &JobId) -> Db<Changed> {
        match self.find(id)? {
            Some(job) if !job.state.is_final() => return Ok(Changed::WrongState(job.state)),
            Some(job) => self.forget(&job)?,
            None if self.remembered(id)?.is_none() => return Ok(Changed::NotFound),
            None => {}
        }
        self.forget_id(id)?;
        self.changed();
        Ok(Changed::Done)
    }

    pub(crate) fn promote(&mut self, id: &JobId) -> Db<Changed> {
        let Some(job) = self.find(id)? else {
            return Ok(Changed::NotFound);
        };
        if job.state != JobState::Scheduled {
            return Ok(Changed::WrongState(job.state));
        }
        let job = Brief {
            due_at: self.now_ms(),
            ..job
        };
        self.place_ready(&job, End::Back)?;
        Ok(Changed::Done)
    }

    /// Removes a page of waiting jobs as if they had never been.
    pub(crate) fn purge(&mut self) -> Db<u64> {
        let mut waiting: Vec<Brief> = Vec::new();
        for lane in [
            select_brief!("queue = ?1 AND state = 1 LIMIT ?2"),
            select_brief!("queue = ?1 AND state = 0 LIMIT ?2"),
        ] {
            let limit = SCAN_PAGE - waiting.len();
            waiting.extend(Brief::select(
                self.db,
                lane,
                params![self.queue.key, limit],
            )?);
        }
        for job in &waiting {
            let figures = &mut self.queue.figures;
            figures.went(job.state, job.priority);
            figures.resize(job.bytes(), 0);
            self.remove(job)?;
        }
        Ok(waiting.len() as u64)
    }
}
