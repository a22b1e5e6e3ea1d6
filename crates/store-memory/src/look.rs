//! get, list, stats: what readers see. Nothing here changes anything.

use windlass_core::time::Now;
use windlass_core::{Cursor, Filter, Job, JobId, JobState, Page, Rates, Stats};

use crate::finish::bytes_of;
use crate::queue::{Finished, Queue};

impl Queue {
    pub(crate) fn get(&self, id: &JobId) -> Option<Job> {
        self.jobs.get(id).map(|entry| entry.job.clone())
    }

    pub(crate) fn list(&self, filter: &Filter, from: Option<&JobId>, limit: usize) -> Page<Job> {
        let mut matching = self
            .after(from)
            .map(|id| &self.jobs[id].job)
            .filter(|job| matches(filter, job))
            .map(|job| Job {
                payload: None,
                result: None,
                ..job.clone()
            });
        let items: Vec<_> = matching.by_ref().take(limit).collect();
        let next = matching
            .next()
            .and(items.last())
            .map(|job| Cursor(job.id.to_string()));
        Page { items, next }
    }

    /// Looks at up to `limit` jobs in the order of their ids: those that are meant, and where to
    /// go on.
    pub(crate) fn scan(
        &self,
        from: Option<&JobId>,
        limit: usize,
        is_meant: impl Fn(&Job) -> bool,
    ) -> (Vec<JobId>, Option<String>) {
        let mut ids = self.after(from);
        let seen: Vec<_> = ids.by_ref().take(limit).collect();
        let next = ids.next().and(seen.last()).map(ToString::to_string);
        let meant = seen
            .into_iter()
            .filter(|id| is_meant(&self.jobs[id].job))
            .cloned()
            .collect();
        (meant, next)
    }

    fn after(&self, from: Option<&JobId>) -> impl Iterator<Item = &JobId> {
        use std::ops::Bound;
        let start = from.map_or(Bound::Unbounded, |id| Bound::Excluded(id.clone()));
        self.jobs.range((start, Bound::Unbounded)).map(|(id, _)| id)
    }

    pub(crate) fn stats(&self, now: Now) -> Stats {
        let kept = |state| self.finished.get(&state).map_or(0, Finished::len);
        let mut stats = Stats {
            scheduled: self.scheduled.len() as u64,
            running: self
                .jobs
                .values()
                .filter(|e| e.job.state == JobState::Running)
                .count() as u64,
            succeeded: kept(JobState::Succeeded),
            dead: kept(JobState::Dead),
            cancelled: kept(JobState::Cancelled),
            bytes: self.jobs.values().map(|entry| bytes_of(&entry.job)).sum(),
            oldest_ms: None,
            next_due_ms: None,
            is_paused: self.is_paused,
            total: self.total,
            last_minute: Rates {
                enqueued: self.enqueued.last_minute(now.ms()),
                finished: self.ended.last_minute(now.ms()),
            },
            ..Stats::default()
        };
        for (lanes, ready) in self.lanes.iter().zip(&mut stats.ready_by_priority) {
            *ready = (lanes.suspects.len() + lanes.others.len()) as u64;
            stats.ready += *ready;
        }
        stats.oldest_ms = self.oldest_ms(now);
        stats.next_due_ms = self
            .scheduled
            .first()
            .map(|(due_at, _)| ms_between(now, *due_at));
        stats
    }

    fn oldest_ms(&self, now: Now) -> Option<u64> {
        let heads = self.lanes.iter().flat_map(|lanes| {
            lanes
                .suspects
                .values()
                .take(1)
                .chain(lanes.others.values().take(1))
        });
        let oldest = heads.map(|id| self.jobs[id].job.due_at).min()?;
        u64::try_from(now.ms().since(oldest).as_millis()).ok()
    }
}

impl Finished {
    fn len(&self) -> u64 {
        self.by_end.len() as u64
    }
}

fn ms_between(now: Now, at: windlass_core::Timestamp) -> u64 {
    at.as_ms().saturating_sub(now.ms().as_ms())
}

/// Whether a filter means a job.
pub(crate) fn matches(filter: &Filter, job: &Job) -> bool {
    filter.state.is_none_or(|state| job.state == state)
        && filter
            .kind
            .as_ref()
            .is_none_or(|kind| job.kind.as_ref() == Some(kind))
}
