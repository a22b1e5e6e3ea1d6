//! get, list and stats. Read-only.

use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::time::Now;
use windlass_core::{Cursor, Error, Filter, Job, JobId, JobState, Page, Rates, Result, Stats};

use crate::finish::bytes_of;
use crate::queue::{Finished, Queue};

impl Queue {
    pub(crate) fn get(&self, id: &JobId) -> Option<Job> {
        self.jobs.get(id).map(|entry| entry.job.clone())
    }

    /// One page of a listing, without payloads and results.
    pub(crate) fn list(
        &self,
        filter: &Filter,
        from: Option<&ScanPosition>,
        limit: usize,
    ) -> Page<Job> {
        let page = self.scan(filter.state, from, limit, |job| matches(filter, job));
        let without_bytes = |id: &JobId| {
            let job = self.jobs[id].job.clone();
            Job {
                payload: None,
                result: None,
                ..job
            }
        };
        Page {
            items: page.items.iter().map(without_bytes).collect(),
            next: page.next,
        }
    }

    /// Scans up to `limit` jobs of a state, or of all states, in order. Returns the matching jobs and
    /// the cursor of the next page.
    pub(crate) fn scan(
        &self,
        state: Option<JobState>,
        from: Option<&ScanPosition>,
        limit: usize,
        is_match: impl Fn(&Job) -> bool,
    ) -> Page<JobId> {
        let of_state = |job: &&Job| state.is_none_or(|state| job.state == state);
        let jobs = self.jobs.values().map(|entry| &entry.job).filter(of_state);
        let positions = jobs.map(|job| self.scan_position(job, state));
        let mut positions: Vec<_> = positions
            .filter(|position| from.is_none_or(|from| position > from))
            .collect();
        positions.sort();
        let next = positions
            .get(limit)
            .and(positions.get(limit.saturating_sub(1)))
            .map(ScanPosition::to_cursor);
        positions.truncate(limit);
        let ids = positions.into_iter().map(|position| position.id);
        Page {
            items: ids.filter(|id| is_match(&self.jobs[id].job)).collect(),
            next,
        }
    }

    /// The position of a job: all jobs by id; those of one state by lane, claim, due time or end.
    fn scan_position(&self, job: &Job, state: Option<JobState>) -> ScanPosition {
        let order = match state {
            None => (0, 0),
            Some(JobState::Scheduled) => (job.due_at.as_ms(), 0),
            Some(JobState::Ready) => (lane_number(job), self.jobs[&job.id].position),
            Some(JobState::Running) => job
                .token
                .map(|token| self.claim_order(&job.id, token))
                .unwrap_or_default(),
            Some(_) => (job.finished_at.unwrap_or_default().as_ms(), 0),
        };
        ScanPosition {
            order,
            id: job.id.clone(),
        }
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

/// A position in a listing; its text form is the cursor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScanPosition {
    order: (u64, i64),
    id: JobId,
}

impl ScanPosition {
    fn to_cursor(&self) -> Cursor {
        Cursor(format!("{},{},{}", self.order.0, self.order.1, self.id))
    }

    pub(crate) fn from_cursor(cursor: &Cursor) -> Result<Self> {
        let bad = || Error::invalid("cursor", "malformed", "start again without a cursor");
        let mut fields = cursor.0.splitn(3, ',');
        let mut field = || fields.next().ok_or_else(bad);
        Ok(Self {
            order: (
                field()?.parse().map_err(|_| bad())?,
                field()?.parse().map_err(|_| bad())?,
            ),
            id: JobId::new(field()?).map_err(|_| bad())?,
        })
    }
}

/// The number of the lane of a job, in claim order.
fn lane_number(job: &Job) -> u64 {
    u64::from(job.priority.level()) * 2 + u64::from(job.expiries < SUSPECT_AFTER)
}

impl Finished {
    fn len(&self) -> u64 {
        self.by_end.len() as u64
    }
}

fn ms_between(now: Now, at: windlass_core::Timestamp) -> u64 {
    at.as_ms().saturating_sub(now.ms().as_ms())
}

/// Whether a job matches a filter.
pub(crate) fn matches(filter: &Filter, job: &Job) -> bool {
    filter.state.is_none_or(|state| job.state == state)
        && filter
            .kind
            .as_ref()
            .is_none_or(|kind| job.kind.as_ref() == Some(kind))
}
