//! cancel, retry, delete, promote and purge, by id, unique key, payload or filter.

use windlass_core::limits::SCAN_PAGE;
use windlass_core::time::Now;
use windlass_core::{
    Change, Changed, ChangedJob, Changes, Job, JobId, JobState, Page, Target, UniqueKey,
};

use crate::queue::{LaneEnd, Queue};
use crate::read::{ScanPosition, matches};

impl Queue {
    /// Changes every job of a target, or one page of them.
    pub(crate) fn change(
        &mut self,
        now: Now,
        change: Change,
        target: &Target,
        from: Option<&ScanPosition>,
    ) -> Changes {
        let changes = match target {
            Target::Ids(ids) => {
                let items = ids.iter().map(|id| {
                    let changed = self.change_one(now, change, id);
                    ChangedJob {
                        id: Some(id.clone()),
                        changed,
                    }
                });
                Page {
                    items: items.collect(),
                    next: None,
                }
            }
            Target::UniqueKey(key) => self.change_by_key(now, change, key),
            Target::Payload(bytes) => {
                let is_same = |job: &Job| job.payload.as_ref() == Some(bytes);
                let page = self.scan(None, from, SCAN_PAGE, is_same);
                self.change_page(now, change, page)
            }
            Target::Filter(filter) => {
                let page = self.scan(filter.state, from, SCAN_PAGE, |job| matches(filter, job));
                self.change_page(now, change, page)
            }
        };
        self.prune_after(now);
        changes
    }

    fn change_by_key(&mut self, now: Now, change: Change, key: &UniqueKey) -> Changes {
        let id = self.unique_keys.get(key).cloned();
        let changed = id
            .as_ref()
            .map_or(Changed::NotFound, |id| self.change_one(now, change, id));
        Page {
            items: vec![ChangedJob { id, changed }],
            next: None,
        }
    }

    /// Changes the jobs of a page. Jobs in a state that does not allow the change are skipped.
    fn change_page(&mut self, now: Now, change: Change, page: Page<JobId>) -> Changes {
        let items = page.items.into_iter().map(|id| ChangedJob {
            changed: self.change_one(now, change, &id),
            id: Some(id),
        });
        let is_allowed = |item: &ChangedJob| !matches!(item.changed, Changed::WrongState(_));
        Page {
            items: items.filter(is_allowed).collect(),
            next: page.next,
        }
    }

    fn change_one(&mut self, now: Now, change: Change, id: &JobId) -> Changed {
        match change {
            Change::Cancel => self.cancel(now, id),
            Change::Retry => self.retry(now, id),
            Change::Delete => self.delete(now, id),
            Change::Promote => self.promote(now, id),
        }
    }

    fn cancel(&mut self, now: Now, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => Changed::NotFound,
            Some(JobState::Scheduled | JobState::Ready) => {
                self.mark_cancelled(id, now);
                Changed::Done
            }
            Some(JobState::Running) => {
                if let Some(entry) = self.jobs.get_mut(id) {
                    entry.job.is_cancel_requested = true;
                }
                self.announce_cancel(id);
                self.mark_changed();
                Changed::WillStop
            }
            Some(state) => Changed::WrongState(state),
        }
    }

    fn retry(&mut self, now: Now, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => return Changed::NotFound,
            Some(JobState::Dead) => {}
            Some(state) => return Changed::WrongState(state),
        }
        let key = self
            .jobs
            .get(id)
            .and_then(|entry| entry.job.unique_key.clone());
        if let Some(holder) = key.as_ref().and_then(|key| self.unique_keys.get(key)) {
            return Changed::Conflict(holder.clone());
        }
        let Some(mut job) = self.forget(id) else {
            return Changed::NotFound;
        };
        job.attempt = 1;
        job.expiries = 0;
        job.error = None;
        job.reason = None;
        job.expires_at = None;
        job.started_at = None;
        job.finished_at = None;
        job.due_at = now.ms();
        if let Some(key) = key {
            self.unique_keys.insert(key, id.clone());
        }
        self.tombstones.remove(id);
        self.jobs
            .insert(id.clone(), crate::queue::Entry { job, position: 0 });
        self.insert_ready(id, LaneEnd::Back);
        Changed::Done
    }

    fn delete(&mut self, now: Now, id: &JobId) -> Changed {
        match self.state_of(id) {
            Some(state) if !state.is_final() => return Changed::WrongState(state),
            Some(_) => {
                self.forget(id);
            }
            None if !self.is_remembered(id, now) => return Changed::NotFound,
            None => {}
        }
        self.tombstones.remove(id);
        self.mark_changed();
        Changed::Done
    }

    fn promote(&mut self, now: Now, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => Changed::NotFound,
            Some(JobState::Scheduled) => {
                self.remove_waiting(id);
                if let Some(entry) = self.jobs.get_mut(id) {
                    entry.job.due_at = now.ms();
                }
                self.insert_ready(id, LaneEnd::Back);
                Changed::Done
            }
            Some(state) => Changed::WrongState(state),
        }
    }

    /// Removes a page of waiting jobs, without remembering their ids.
    pub(crate) fn purge(&mut self) -> u64 {
        let is_waiting = |id: &&JobId| self.state_of(id).is_some_and(JobState::is_waiting);
        let ids: Vec<_> = self
            .jobs
            .keys()
            .filter(is_waiting)
            .take(SCAN_PAGE)
            .cloned()
            .collect();
        for id in &ids {
            self.remove_waiting(id);
            let Some(entry) = self.jobs.remove(id) else {
                continue;
            };
            if let Some(key) = entry.job.unique_key {
                self.unique_keys.remove(&key);
            }
        }
        ids.len() as u64
    }

    /// Whether the id has a tombstone that has not expired. An expired one may not be pruned yet.
    fn is_remembered(&self, id: &JobId, now: Now) -> bool {
        self.tombstones
            .get(id)
            .is_some_and(|(_, until)| *until > now.ms())
    }

    fn state_of(&self, id: &JobId) -> Option<JobState> {
        self.jobs.get(id).map(|entry| entry.job.state)
    }
}
