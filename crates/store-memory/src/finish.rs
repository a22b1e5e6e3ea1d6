//! How jobs end, what is kept of them, and for how long.

use windlass_core::store::stored_bytes;
use windlass_core::time::Now;
use windlass_core::{Bytes, Job, JobId, JobState, Keep, KeepSucceeded, Reason, Token};

use crate::queue::{Finished, Queue};

impl Queue {
    /// Ends a job well. Without a result it is not kept, unless somebody waits or all are kept.
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
        self.end_as(id, now, JobState::Succeeded, is_kept);
    }

    /// Ends a job badly.
    pub(crate) fn bury(&mut self, id: &JobId, now: Now, reason: Reason) {
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.job.reason = Some(reason);
        self.total.dead += 1;
        self.end_as(id, now, JobState::Dead, true);
    }

    /// Ends a job on request.
    pub(crate) fn end_cancelled(&mut self, id: &JobId, now: Now) {
        self.total.cancelled += 1;
        self.end_as(id, now, JobState::Cancelled, true);
    }

    fn end_as(&mut self, id: &JobId, now: Now, state: JobState, is_kept: bool) {
        self.unplace(id);
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
        self.kept_in_step += usize::from(is_kept || is_remembered);
    }

    /// Takes a finished job out of what is kept.
    pub(crate) fn forget(&mut self, id: &JobId) -> Option<Job> {
        let job = self.jobs.remove(id)?.job;
        if let (Some(finished), Some(at)) = (self.finished.get_mut(&job.state), job.finished_at) {
            finished.by_end.remove(&(at, id.clone()));
            finished.bytes -= bytes_of(&job);
        }
        self.changed();
        Some(job)
    }

    /// After a step that ended jobs: twice as much is pruned as was kept, so that kept jobs stay
    /// within their bounds with no maintenance at all.
    pub(crate) fn prune_step(&mut self, now: Now) {
        self.prune(now, self.kept_in_step * 2);
    }

    /// Drops up to `limit` finished jobs and tombstones that are beyond their bounds; answers how
    /// many jobs it dropped, and how many ids and claims it forgot.
    pub(crate) fn prune(&mut self, now: Now, limit: usize) -> (u64, u64) {
        let mut pruned = 0;
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            while pruned < limit
                && let Some(id) = self.oldest_beyond(now, state)
            {
                self.forget(&id);
                pruned += 1;
            }
        }
        let mut forgotten = 0;
        while pruned + forgotten < limit
            && let Some(id) = self.oldest_tombstone_beyond(now)
        {
            self.tombstones.remove(&id);
            self.changed();
            forgotten += 1;
        }
        while pruned + forgotten < limit
            && let Some(token) = self.oldest_forgotten_claim(now)
        {
            self.claims.remove(&token);
            self.changed();
            forgotten += 1;
        }
        (pruned as u64, forgotten as u64)
    }

    /// The claim that finished first, if that was so long ago that it is forgotten.
    fn oldest_forgotten_claim(&self, now: Now) -> Option<Token> {
        let forgotten = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.is_forgotten(now));
        let oldest = forgotten.min_by_key(|(token, claim)| (claim.finished_at, **token));
        oldest.map(|(token, _)| *token)
    }

    /// The finished job of a state that must go first, if one must.
    fn oldest_beyond(&self, now: Now, state: JobState) -> Option<JobId> {
        let keep = match state {
            JobState::Succeeded => self.settings.succeeded,
            JobState::Dead => self.settings.dead,
            _ => self.settings.cancelled,
        };
        let finished = self.finished.get(&state)?;
        let (ended_at, id) = finished.by_end.first()?;
        let is_old = keep.age.is_some_and(|age| ended_at.plus(age) <= now.ms());
        (is_old || finished.is_beyond(&keep)).then(|| id.clone())
    }

    fn oldest_tombstone_beyond(&self, now: Now) -> Option<JobId> {
        let oldest = self
            .tombstones
            .iter()
            .map(|(id, (_, until))| (*until, id))
            .min()?;
        let (until, id) = oldest;
        let is_over = until <= now.ms() || self.tombstones.len() as u64 > self.settings.dedup_max;
        is_over.then(|| id.clone())
    }
}

impl Finished {
    fn is_beyond(&self, keep: &Keep) -> bool {
        keep.count
            .is_some_and(|count| self.by_end.len() as u64 > count)
            || keep.bytes.is_some_and(|bytes| self.bytes > bytes)
    }
}

/// Bytes of a stored job that count.
pub(crate) fn bytes_of(job: &Job) -> u64 {
    let payload = job.payload.as_ref().map_or(0, Bytes::len);
    stored_bytes(payload, job.result.as_ref(), job.error.as_deref())
}
