//! cancel, retry, delete, promote and purge, by id, unique key, payload or filter.

use windlass_core::limits::SCAN_PAGE;
use windlass_core::store::{Changed, ChangedJob, Changes, JobPage, Requeue, UniqueKey};
use windlass_core::{Change, Job, JobId, JobState, Target};

use crate::queue::{Queue, Remembered};
use crate::read::ScanPosition;

impl Queue {
    /// Changes every job of a target, or one page of them.
    pub(crate) fn change(
        &mut self,
        change: Change,
        target: &Target,
        from: Option<&ScanPosition>,
    ) -> Changes {
        let named = |items| (JobPage::complete(items), true);
        let (mut page, is_named) = match target {
            Target::Ids(ids) => named(ids.clone()),
            Target::UniqueKey(key) => {
                let Some(id) = self.unique_keys.get(key) else {
                    if change == Change::Delete
                        && let Some(changes) = self.free_key(key)
                    {
                        return changes;
                    }
                    let (id, changed) = (None, Changed::NotFound);
                    let items = vec![ChangedJob { id, changed }];
                    return JobPage::complete(items);
                };
                named(vec![id.clone()])
            }
            Target::Payload(bytes) => {
                let is_same = |job: &Job| job.payload.as_ref() == Some(bytes);
                (self.scan(None, from, SCAN_PAGE, true, is_same), false)
            }
            Target::Filter(filter) => {
                let now = self.now.ms();
                (self.scan_matching(filter, from, SCAN_PAGE, now), false)
            }
        };
        if !is_named {
            // Pending jobs first: the end of the job that they wait for must not release them.
            let is_other = |id: &JobId| self.state_of(id) != Some(JobState::Pending);
            page.items.sort_by_key(is_other);
        }
        let items = page.items.into_iter().map(|id| ChangedJob {
            changed: self.change_one(change, &id),
            id: Some(id),
        });
        // Only a job that was asked for by name is reported if its state does not allow the change.
        let is_reported =
            |item: &ChangedJob| is_named || !matches!(item.changed, Changed::WrongState(_));
        let items = items.filter(is_reported).collect();
        self.prune_after();
        JobPage {
            items,
            next: page.next,
            scanned: page.scanned,
        }
    }

    fn change_one(&mut self, change: Change, id: &JobId) -> Changed {
        match change {
            Change::Cancel => self.cancel(id),
            Change::Retry => self.retry(id),
            Change::Delete => self.delete(id),
            Change::Promote => self.promote(id),
        }
    }

    pub(crate) fn cancel(&mut self, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => Changed::NotFound,
            Some(JobState::Pending | JobState::Scheduled | JobState::Ready) => {
                self.mark_cancelled(id);
                Changed::Done
            }
            Some(JobState::Running) => {
                self.job(id).is_cancel_requested = true;
                self.announce_cancel(id);
                self.mark_changed();
                Changed::WillStop
            }
            Some(state) => Changed::WrongState(state),
        }
    }

    fn retry(&mut self, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => return Changed::NotFound,
            Some(JobState::Dead) => {}
            Some(state) => return Changed::WrongState(state),
        }
        let key = self.jobs[id].unique_key.clone();
        let holder = key.as_ref().and_then(|key| self.key_holder(key));
        if let Some(holder) = holder.filter(|holder| *holder != id) {
            return Changed::Conflict(holder.clone());
        }
        // In a lane that stops at a failure, the job keeps its slot, and so its place.
        let holds_slot = self.holds_slot(&self.jobs[id]);
        let Some(mut job) = self.forget(id) else {
            return Changed::NotFound;
        };
        job.attempt = 1;
        job.expiries = 0;
        job.error = None;
        job.reason = None;
        job.expires_at = None;
        job.finished_at = None;
        job.due_at = self.now.ms();
        if let Some(key) = key {
            self.tombstones.remove(&Remembered::Key(key.clone()));
            self.unique_keys.insert(key, id.clone());
        }
        self.tombstones.remove(&Remembered::Id(id.clone()));
        let group = job.group.clone().filter(|_| holds_slot);
        self.jobs.insert(id.clone(), job);
        if let Some(group) = group.and_then(|name| self.groups.get_mut(&name)) {
            group.holders.insert(id.clone());
        }
        self.insert_ready(id, Requeue::Back);
        Changed::Done
    }

    /// Frees a key that is held after its job ended, and deletes the job if it is stored.
    fn free_key(&mut self, key: &UniqueKey) -> Option<Changes> {
        let name = Remembered::Key(key.clone());
        let id = self.remembered(&name)?.id().clone();
        self.tombstones.remove(&name);
        self.mark_changed();
        let job = self.jobs.get(&id);
        // The id may be another job's by now.
        if job.is_some_and(|job| job.state.is_final() && job.unique_key.as_ref() == Some(key)) {
            self.delete(&id);
        }
        let (id, changed) = (Some(id), Changed::Done);
        let items = vec![ChangedJob { id, changed }];
        Some(JobPage::complete(items))
    }

    fn delete(&mut self, id: &JobId) -> Changed {
        let name = Remembered::Id(id.clone());
        match self.state_of(id) {
            Some(state) if !state.is_final() => return Changed::WrongState(state),
            Some(_) => {
                let job = self.forget(id);
                // Another job may hold the key by now.
                if let Some(key) = job.and_then(|job| job.unique_key)
                    && self.key_holder(&key) == Some(id)
                {
                    self.tombstones.remove(&Remembered::Key(key));
                }
            }
            None if self.remembered(&name).is_none() => return Changed::NotFound,
            None => {}
        }
        self.tombstones.remove(&name);
        self.mark_changed();
        Changed::Done
    }

    fn promote(&mut self, id: &JobId) -> Changed {
        match self.state_of(id) {
            None => Changed::NotFound,
            Some(JobState::Pending) => {
                self.promote_pending(id);
                Changed::Done
            }
            Some(JobState::Scheduled) => {
                self.remove_waiting(id);
                self.job(id).due_at = self.now.ms();
                self.insert_ready(id, Requeue::Back);
                Changed::Done
            }
            Some(state) => Changed::WrongState(state),
        }
    }

    /// Removes a page of waiting jobs, without remembering their ids.
    pub(crate) fn purge(&mut self) -> u64 {
        let waiting = self.jobs.values().filter(|job| job.state.is_waiting());
        let waiting: Vec<_> = waiting.take(SCAN_PAGE).cloned().collect();
        for job in &waiting {
            self.remove_waiting(&job.id);
            self.leave_slot(&job.id);
            self.jobs.remove(&job.id);
            if let Some(key) = &job.unique_key {
                self.unique_keys.remove(key);
            }
        }
        // Pending jobs first: the end of the job that they wait for must not release them.
        let (pending, others): (Vec<_>, Vec<_>) = waiting
            .iter()
            .partition(|job| job.state == JobState::Pending);
        for job in pending.into_iter().chain(others) {
            if let Some(name) = &job.schedule {
                self.end_in_schedule(&job.id, name, None);
            }
        }
        waiting.len() as u64
    }

    fn state_of(&self, id: &JobId) -> Option<JobState> {
        self.jobs.get(id).map(|job| job.state)
    }
}
