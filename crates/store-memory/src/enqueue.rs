//! enqueue, with deduplication by id and by unique key.

use windlass_core::store::DurabilityLevel;
use windlass_core::{Due, Enqueued, Job, JobId, JobState, NewJob, Timestamp};

use crate::queue::Queue;

impl Queue {
    pub(crate) fn enqueue(&mut self, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        jobs.into_iter().map(|new| self.enqueue_one(new)).collect()
    }

    fn enqueue_one(&mut self, new: NewJob) -> Enqueued {
        if let Some((id, state)) = self.existing(&new) {
            if new.keep_outcome {
                self.keep_outcome_of(&id);
            }
            return Enqueued::Duplicate {
                id,
                state,
                level: DurabilityLevel::Memory,
            };
        }
        let id = new.id.clone();
        let due_at = self.store_new(new);
        self.insert_due(&id, due_at);
        Enqueued::Accepted {
            state: self.jobs[&id].state,
            id,
            level: DurabilityLevel::Memory,
        }
    }

    /// Stores a new job that is in no index yet. Returns when it is due.
    pub(crate) fn store_new(&mut self, new: NewJob) -> Timestamp {
        let id = new.id.clone();
        self.tombstones.remove(&id);
        if let Some(key) = &new.unique_key {
            self.unique_keys.insert(key.clone(), id.clone());
        }
        let job = self.new_job(new);
        let due_at = job.due_at;
        self.jobs.insert(id, job);
        self.total.enqueued += 1;
        self.enqueued.add(self.now.ms(), 1);
        due_at
    }

    /// The existing job with the same id or, failing that, the same unique key.
    pub(crate) fn existing(&self, new: &NewJob) -> Option<(JobId, JobState)> {
        if let Some(job) = self.jobs.get(&new.id) {
            return Some((new.id.clone(), job.state));
        }
        if let Some(state) = self.remembered_state(&new.id) {
            return Some((new.id.clone(), state));
        }
        let owner = self.unique_keys.get(new.unique_key.as_ref()?)?;
        Some((owner.clone(), self.jobs[owner].state))
    }

    /// The final state of an id that has a tombstone. An expired one may not be pruned yet.
    pub(crate) fn remembered_state(&self, id: &JobId) -> Option<JobState> {
        let (state, until) = self.tombstones.get(id)?;
        (*until > self.now.ms()).then_some(*state)
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
        let mut retry = new.retry;
        retry.until = retry.until.map(|until| Due::At(until.resolve(now)));
        Job {
            id: new.id,
            queue: self.name.clone(),
            state: JobState::Ready,
            is_named: new.is_named,
            kind: new.kind,
            priority: new.priority,
            payload: Some(new.payload),
            headers: new.headers,
            retry,
            timeout: new.timeout,
            unique_key: new.unique_key,
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
            reason: None,
            worker: None,
            token: None,
            lease_until: None,
            is_cancel_requested: false,
        }
    }
}
