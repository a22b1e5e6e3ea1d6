//! Finishing jobs, and pruning finished jobs.

use windlass_core::store::stored_bytes;
use windlass_core::time::Now;
use windlass_core::{Bytes, Job, JobId, JobState, Keep, KeepSucceeded, Reason, Token};

use crate::queue::{Finished, Queue};

impl Queue {
    /// Marks a job as succeeded. The settings decide whether it is kept.
    pub(crate) fn succeed(&mut self, id: &JobId, now: Now, result: Option<Bytes>) {
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        let is_kept = match self.settings.keep_succeeded {
            KeepSucceeded::WithResult => result.is_some() || entry.job.keep_outcome,
            KeepSucceeded::All => true,
            KeepSucceeded::Nothing => false,
        };
        entry.job.result = result;
        self.total.succeeded += 1;
        self.finish(id, now, JobState::Succeeded, is_kept);
    }

    /// Marks a job as dead.
    pub(crate) fn mark_dead(&mut self, id: &JobId, now: Now, reason: Reason) {
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.job.reason = Some(reason);
        self.total.dead += 1;
        self.finish(id, now, JobState::Dead, true);
    }

    /// Marks a job as cancelled.
    pub(crate) fn mark_cancelled(&mut self, id: &JobId, now: Now) {
        self.total.cancelled += 1;
        self.finish(id, now, JobState::Cancelled, true);
    }

    fn finish(&mut self, id: &JobId, now: Now, state: JobState, is_kept: bool) {
        self.remove_waiting(id);
        self.ended.add(now.ms(), 1);
        self.announce(id, state);
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        let job = &mut entry.job;
        if let Some(key) = &job.unique_key {
            self.unique_keys.remove(key);
        }
        let until = now.ms().plus(self.settings.dedup_for);
        let is_remembered = job.is_named && until > now.ms();
        if is_remembered {
            self.tombstones.insert(id.clone(), (state, until));
        }
        if is_kept {
            job.state = state;
            job.finished_at = Some(now.ms());
            let finished = self.finished.entry(state).or_default();
            finished.by_end.insert((now.ms(), id.clone()));
            finished.bytes += bytes_of(job);
        } else {
            self.jobs.remove(id);
        }
        self.kept_in_transaction += usize::from(is_kept || is_remembered);
    }

    /// Removes a finished job.
    pub(crate) fn forget(&mut self, id: &JobId) -> Option<Job> {
        let job = self.jobs.remove(id)?.job;
        if let (Some(finished), Some(at)) = (self.finished.get_mut(&job.state), job.finished_at) {
            finished.by_end.remove(&(at, id.clone()));
            finished.bytes -= bytes_of(&job);
        }
        self.mark_changed();
        Some(job)
    }

    /// Prunes at the end of a transaction: twice as many jobs as it kept, so that finished jobs stay
    /// within their limits without maintenance.
    pub(crate) fn prune_after(&mut self, now: Now) {
        self.prune(now, self.kept_in_transaction * 2);
    }

    /// Removes up to `limit` finished jobs, tombstones and finished claims that exceed their limits.
    /// Returns the number of jobs, and the number of ids and claims.
    pub(crate) fn prune(&mut self, now: Now, limit: usize) -> (u64, u64) {
        let mut pruned = 0;
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            while pruned < limit
                && let Some(id) = self.oldest_to_prune(now, state)
            {
                self.forget(&id);
                pruned += 1;
            }
        }
        let mut forgotten = 0;
        while pruned + forgotten < limit
            && let Some(id) = self.oldest_tombstone_to_prune(now)
        {
            self.tombstones.remove(&id);
            self.mark_changed();
            forgotten += 1;
        }
        while pruned + forgotten < limit
            && let Some(token) = self.oldest_forgotten_claim(now)
        {
            self.claims.remove(&token);
            self.mark_changed();
            forgotten += 1;
        }
        (pruned as u64, forgotten as u64)
    }

    /// The claim that finished first, if it is no longer remembered.
    fn oldest_forgotten_claim(&self, now: Now) -> Option<Token> {
        let forgotten = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.is_forgotten(now));
        let oldest = forgotten.min_by_key(|(token, claim)| (claim.finished_at, **token));
        oldest.map(|(token, _)| *token)
    }

    /// The oldest finished job of a state, if it exceeds a limit.
    fn oldest_to_prune(&self, now: Now, state: JobState) -> Option<JobId> {
        let keep = match state {
            JobState::Succeeded => self.settings.succeeded,
            JobState::Dead => self.settings.dead,
            _ => self.settings.cancelled,
        };
        let finished = self.finished.get(&state)?;
        let (ended_at, id) = finished.by_end.first()?;
        let is_old = keep.age.is_some_and(|age| ended_at.plus(age) <= now.ms());
        (is_old || finished.exceeds(&keep)).then(|| id.clone())
    }

    fn oldest_tombstone_to_prune(&self, now: Now) -> Option<JobId> {
        let oldest = self
            .tombstones
            .iter()
            .map(|(id, (_, until))| (*until, id))
            .min()?;
        let (until, id) = oldest;
        let is_expendable =
            until <= now.ms() || self.tombstones.len() as u64 > self.settings.dedup_max;
        is_expendable.then(|| id.clone())
    }
}

impl Finished {
    fn exceeds(&self, keep: &Keep) -> bool {
        keep.count
            .is_some_and(|count| self.by_end.len() as u64 > count)
            || keep.bytes.is_some_and(|bytes| self.bytes > bytes)
    }
}

/// The stored size of a job.
pub(crate) fn bytes_of(job: &Job) -> u64 {
    let payload = job.payload.as_ref().map_or(0, Bytes::len);
    stored_bytes(payload, job.result.as_ref(), job.error.as_deref())
}
