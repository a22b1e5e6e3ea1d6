//! enqueue, with deduplication by id and by unique key.

use windlass_core::limits::AMENDMENT_TOMBSTONE;
use windlass_core::store::DurabilityLevel::Memory;
use windlass_core::store::{Requeue, UniqueKey};
use windlass_core::{Enqueued, Job, JobId, JobState, NewJob, Timestamp};

use crate::queue::{Queue, Remembered, Tombstone};

impl Queue {
    pub(crate) fn enqueue(&mut self, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        let replies = jobs.into_iter().map(|new| self.enqueue_one(new)).collect();
        // Amendments are remembered. Producers alone must not exceed the limit.
        self.prune_tombstones(self.kept_in_transaction * 2);
        replies
    }

    fn enqueue_one(&mut self, new: NewJob) -> Enqueued {
        if let Some(id) = self.amendable(&new)
            && let Some(reply) = self.amend(&id, &new)
        {
            return reply;
        }
        if let Some(reply) = self.existing(&new) {
            if new.keep_outcome {
                self.keep_outcome_of(reply.id());
            }
            return reply;
        }
        let id = new.id.clone();
        let due_at = self.store_new(new);
        self.insert_due(&id, due_at);
        Enqueued::Accepted {
            state: self.jobs[&id].state,
            id,
            level: Memory,
        }
    }

    /// Stores a new job that is in no index yet. Returns when it is due.
    pub(crate) fn store_new(&mut self, new: NewJob) -> Timestamp {
        let id = new.id.clone();
        self.tombstones.remove(&Remembered::Id(id.clone()));
        if let Some(key) = &new.unique_key {
            self.tombstones.remove(&Remembered::Key(key.clone()));
            self.unique_keys.insert(key.clone(), id.clone());
        }
        let job = self.new_job(new);
        let due_at = job.due_at;
        self.jobs.insert(id, job);
        self.total.enqueued += 1;
        self.enqueued.add(self.now.ms(), 1);
        due_at
    }

    /// The reply for a job whose id or, failing that, whose unique key is in use or remembered.
    pub(crate) fn existing(&self, new: &NewJob) -> Option<Enqueued> {
        let duplicate = |id: &JobId| Enqueued::Duplicate {
            id: id.clone(),
            state: self.jobs[id].state,
            level: Memory,
        };
        if self.jobs.contains_key(&new.id) {
            return Some(duplicate(&new.id));
        }
        if let Some(reply) = self.remembered(&Remembered::Id(new.id.clone())) {
            return Some(reply.clone());
        }
        let key = new.unique_key.as_ref()?;
        let holder = self.unique_keys.get(key).map(duplicate);
        holder.or_else(|| self.remembered(&Remembered::Key(key.clone())).cloned())
    }

    /// The reply that a tombstone remembers. An expired one may not be pruned yet.
    pub(crate) fn remembered(&self, name: &Remembered) -> Option<&Enqueued> {
        let tombstone = self.tombstones.get(name)?;
        (tombstone.until > self.now.ms()).then_some(&tombstone.reply)
    }

    /// The job that holds a unique key: an unfinished one, or an ended one if the key is still held.
    pub(crate) fn key_holder(&self, key: &UniqueKey) -> Option<&JobId> {
        let held = || self.remembered(&Remembered::Key(key.clone()));
        self.unique_keys
            .get(key)
            .or_else(|| held().map(Enqueued::id))
    }

    /// The job that an enqueue may replace or postpone: the one with its id or, failing that, its unique key.
    fn amendable(&self, new: &NewJob) -> Option<JobId> {
        if self.jobs.contains_key(&new.id) {
            // A generated id belongs to one call: this one repeats the call that stored the job.
            return new.is_named.then(|| new.id.clone());
        }
        if self.remembered(&Remembered::Id(new.id.clone())).is_some() {
            return None;
        }
        self.unique_keys.get(new.unique_key.as_ref()?).cloned()
    }

    /// Replaces or postpones a waiting job. Returns `None` if nothing is to be changed.
    fn amend(&mut self, id: &JobId, new: &NewJob) -> Option<Enqueued> {
        let job = self.jobs.get(id).filter(|job| job.state.is_waiting())?;
        let due = new.postpones(job, self.now);
        let replaces = new.on_duplicate.replaces();
        if due.is_none() && !replaces {
            return None;
        }
        let lane = self.lane_in_line(job);
        let (group, is_moved) = (job.group.clone(), replaces && job.group != new.group);
        let position = self.positions.get(id).copied();
        self.remove_waiting(id);
        if is_moved {
            self.leave_slot(id);
        }
        let now = self.now;
        let job = self.job(id);
        job.keep_outcome |= new.keep_outcome;
        if replaces {
            job.replace(new.clone(), now);
        }
        let job = &self.jobs[id];
        let is_same_lane = self.lane_in_line(job) == lane && job.group == group;
        match (job.state, due) {
            (JobState::Scheduled | JobState::Ready, Some(due_at)) => {
                self.insert_scheduled(id, due_at);
            }
            (JobState::Ready, None) if !is_same_lane => self.insert_ready(id, Requeue::Back),
            (_, due) => {
                let due = due.unwrap_or(job.due_at);
                self.job(id).due_at = due;
                self.restore(id, position);
            }
        }
        let (id, state, level) = (id.clone(), self.jobs[id].state, Memory);
        let reply = if replaces {
            Enqueued::Replaced { id, state, level }
        } else {
            Enqueued::Postponed { id, state, level }
        };
        if new.id != *reply.id() {
            self.remember_amendment(new.id.clone(), reply.clone());
        }
        Some(reply)
    }

    /// Remembers the reply of a call, so that repeating it does not overwrite a newer one.
    fn remember_amendment(&mut self, id: JobId, reply: Enqueued) {
        let until = self.now.ms().plus(AMENDMENT_TOMBSTONE);
        let tombstone = Tombstone { reply, until };
        self.tombstones.insert(Remembered::Id(id), tombstone);
        self.kept_in_transaction += 1;
    }

    /// A duplicate that asks for the outcome makes the existing job keep it.
    fn keep_outcome_of(&mut self, id: &JobId) {
        if let Some(job) = self.jobs.get_mut(id)
            && !job.state.is_final()
            && !job.keep_outcome
        {
            job.keep_outcome = true;
            self.mark_changed();
        }
    }

    fn new_job(&self, new: NewJob) -> Job {
        let now = self.now;
        Job {
            id: new.id,
            queue: self.name.clone(),
            state: JobState::Ready,
            is_named: new.is_named,
            kind: new.kind,
            priority: new.priority,
            group: new.group,
            payload: Some(new.payload),
            headers: new.headers,
            retry: new.retry.resolve(now),
            timeout: new.timeout,
            unique_key: new.unique_key,
            unique_until: new.unique_until,
            unique_for: new.unique_for,
            schedule: None,
            keep_outcome: new.keep_outcome,
            attempt: 1,
            expiries: 0,
            created_at: now.ms(),
            due_at: new.due.resolve(now),
            expires_at: new.expires.map(|expires| expires.resolve(now)),
            started_at: None,
            accepted_at: None,
            finished_at: None,
            progress: None,
            result: None,
            error: None,
            attempts: Vec::new(),
            reason: None,
            worker: None,
            token: None,
            lease_until: None,
            is_cancel_requested: false,
        }
    }
}
