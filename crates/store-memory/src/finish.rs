//! Finishing jobs, and pruning finished jobs.

use windlass_core::limits::claims_removed_before;
use windlass_core::queue::stored_bytes;
use windlass_core::store::{DurabilityLevel, Reason};
use windlass_core::{Bytes, Enqueued, Job, JobId, JobState, Timestamp, Token};

use crate::queue::{Queue, Remembered, Tombstone};

impl Queue {
    /// Marks a job as succeeded. The settings decide whether it is kept.
    pub(crate) fn succeed(&mut self, id: &JobId, result: Option<Bytes>) {
        let keep = self.settings.keep_succeeded;
        let job = self.job(id);
        let is_kept = keep.keeps(result.is_some(), job.keep_outcome);
        job.result = result;
        self.total.succeeded += 1;
        self.finish(id, JobState::Succeeded, is_kept);
    }

    /// Marks a job as dead.
    pub(crate) fn mark_dead(&mut self, id: &JobId, reason: Reason) {
        self.job(id).reason = Some(reason);
        self.total.dead += 1;
        self.finish(id, JobState::Dead, true);
    }

    /// Marks a job as cancelled.
    pub(crate) fn mark_cancelled(&mut self, id: &JobId) {
        self.total.cancelled += 1;
        self.finish(id, JobState::Cancelled, true);
    }

    fn finish(&mut self, id: &JobId, state: JobState, is_kept: bool) {
        let now = self.now.ms();
        self.remove_waiting(id);
        self.leave_slot_at_end(id, state);
        self.ended.add(now, 1);
        self.announce(id, state);
        let until = now.plus(self.settings.dedup_for);
        let job = self.job(id);
        job.state = state;
        job.finished_at = Some(now);
        let (bytes, is_named, key) = (stored_bytes(job), job.is_named, job.unique_key.clone());
        let key_until = job.key_held_until(state, now);
        let schedule = job.schedule.clone();
        if let Some(key) = key {
            self.unique_keys.remove(&key);
            if let Some(until) = key_until {
                self.remember_end(Remembered::Key(key), id, state, until);
            }
        }
        let is_remembered = is_named && until > now;
        if is_remembered {
            self.remember_end(Remembered::Id(id.clone()), id, state, until);
        }
        if is_kept {
            let finished = self.finished.entry(state).or_default();
            finished.by_end.insert((now, id.clone()));
            finished.bytes += bytes;
        } else {
            self.jobs.remove(id);
        }
        self.kept_in_transaction += usize::from(is_kept || is_remembered);
        self.kept_in_transaction += usize::from(key_until.is_some());
        if let Some(name) = schedule {
            self.end_in_schedule(id, &name, Some(state));
        }
    }

    /// Remembers that a job ended, under its id or its unique key.
    fn remember_end(&mut self, name: Remembered, id: &JobId, state: JobState, until: Timestamp) {
        let reply = Enqueued::Duplicate {
            id: id.clone(),
            state,
            level: DurabilityLevel::Memory,
        };
        self.tombstones.insert(name, Tombstone { reply, until });
    }

    /// Removes a finished job.
    pub(crate) fn forget(&mut self, id: &JobId) -> Option<Job> {
        self.leave_slot(id);
        let job = self.jobs.remove(id)?;
        if let (Some(finished), Some(at)) = (self.finished.get_mut(&job.state), job.finished_at) {
            finished.by_end.remove(&(at, id.clone()));
            finished.bytes -= stored_bytes(&job);
        }
        self.mark_changed();
        Some(job)
    }

    /// Prunes at the end of a transaction: twice as many jobs as it kept, so that finished jobs stay
    /// within their limits without maintenance.
    pub(crate) fn prune_after(&mut self) {
        self.prune(self.kept_in_transaction * 2);
    }

    /// Removes up to `limit` finished jobs, tombstones and finished claims that exceed their limits.
    /// Returns the number of jobs, and the number of ids and claims.
    pub(crate) fn prune(&mut self, limit: usize) -> (u64, u64) {
        let mut pruned = 0;
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            while pruned < limit
                && let Some(id) = self.oldest_to_prune(state)
            {
                self.forget(&id);
                pruned += 1;
            }
        }
        let mut forgotten = self.prune_tombstones(limit - pruned);
        while pruned + forgotten < limit
            && let Some(token) = self.oldest_forgotten_claim()
        {
            self.claims.remove(&token);
            self.mark_changed();
            forgotten += 1;
        }
        (pruned as u64, forgotten as u64)
    }

    /// Removes up to `limit` tombstones that expired or exceed their limit. Returns how many.
    pub(crate) fn prune_tombstones(&mut self, limit: usize) -> usize {
        let mut forgotten = 0;
        while forgotten < limit
            && let Some(name) = self.oldest_tombstone_to_prune()
        {
            self.tombstones.remove(&name);
            self.mark_changed();
            forgotten += 1;
        }
        forgotten
    }

    /// The claim that finished first, if it is no longer remembered.
    fn oldest_forgotten_claim(&self) -> Option<Token> {
        let claims = self.claims.iter();
        let before = claims_removed_before(self.now.ms());
        let forgotten = claims.filter(|(_, claim)| claim.finished_at.is_some_and(|at| at < before));
        let oldest = forgotten.min_by_key(|(token, claim)| (claim.finished_at, **token));
        oldest.map(|(token, _)| *token)
    }

    /// The oldest finished job of a state, if it exceeds a limit.
    fn oldest_to_prune(&self, state: JobState) -> Option<JobId> {
        let keep = self.settings.keep(state);
        let finished = self.finished.get(&state)?;
        let (ended_at, id) = finished.by_end.first()?;
        let is_old = keep
            .age
            .is_some_and(|age| ended_at.plus(age) <= self.now.ms());
        let is_over = keep.is_exceeded(finished.by_end.len() as u64, finished.bytes);
        (is_old || is_over).then(|| id.clone())
    }

    fn oldest_tombstone_to_prune(&self) -> Option<Remembered> {
        let tombstones = self.tombstones.iter();
        let (until, name) = tombstones.map(|(name, tomb)| (tomb.until, name)).min()?;
        let is_over = self.tombstones.len() as u64 > self.settings.dedup_max;
        (is_over || until <= self.now.ms()).then(|| name.clone())
    }
}
