//! get, list and stats. Read-only.

use windlass_core::filter::SearchBudget;
use windlass_core::queue::stored_bytes;
use windlass_core::store::{Cursor, JobPage, Page, Rates, ScheduleRecord, Stats};
use windlass_core::time::Now;
use windlass_core::{
    Error, Filter, Job, JobId, JobState, Priority, Result, ScheduleName, Timestamp,
};

use crate::queue::{Queue, lanes};

impl Queue {
    /// A job, with the end of its lease.
    pub(crate) fn get(&self, id: &JobId) -> Option<Job> {
        let job = self.jobs.get(id)?;
        let claim = job.token.and_then(|token| self.claims.get(&token));
        let lease = claim.and_then(|claim| self.leases.get(&claim.owner));
        // A lease that is being reaped has no end any more.
        let until = lease.map(|lease| lease.until);
        Some(Job {
            lease_until: until.filter(|until| *until > Timestamp::default()),
            ..job.clone()
        })
    }

    /// One page of a listing, without payloads and results.
    pub(crate) fn list(
        &self,
        filter: &Filter,
        from: Option<&ScanPosition>,
        limit: usize,
        now: Timestamp,
    ) -> JobPage<Job> {
        let page = self.scan_matching(filter, from, limit, now);
        let without_bytes = |id: &JobId| Job {
            payload: None,
            result: None,
            attempts: Vec::new(),
            ..self.jobs[id].clone()
        };
        JobPage {
            items: page.items.iter().map(without_bytes).collect(),
            next: page.next,
            scanned: page.scanned,
        }
    }

    /// One page of the schedules, by name.
    pub(crate) fn list_schedules(
        &self,
        from: Option<&ScheduleName>,
        limit: usize,
    ) -> Page<ScheduleRecord> {
        let records = self.schedules.values();
        let records = records.filter(|record| from.is_none_or(|from| record.schedule.name > *from));
        let mut items: Vec<_> = records.take(limit + 1).cloned().collect();
        let has_more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| has_more);
        let next = last.map(|record| Cursor(record.schedule.name.to_string()));
        Page { items, next }
    }

    /// Scans for jobs that match a filter.
    pub(crate) fn scan_matching(
        &self,
        filter: &Filter,
        from: Option<&ScanPosition>,
        limit: usize,
        now: Timestamp,
    ) -> JobPage<JobId> {
        let is_match = |job: &Job| filter.matches(job, now);
        self.scan(filter.state, from, limit, filter.reads_payloads(), is_match)
    }

    /// Scans the jobs of a state, or of all states, in order, until `limit` jobs match or the budget of a search is
    /// spent. Returns the matching jobs and the cursor of the next page.
    pub(crate) fn scan(
        &self,
        state: Option<JobState>,
        from: Option<&ScanPosition>,
        limit: usize,
        reads_payloads: bool,
        is_match: impl Fn(&Job) -> bool,
    ) -> JobPage<JobId> {
        let of_state = |job: &&Job| state.is_none_or(|state| job.state == state);
        let jobs = self.jobs.values().filter(of_state);
        let positions = jobs.map(|job| self.scan_position(job, state));
        let mut positions: Vec<_> = positions
            .filter(|position| from.is_none_or(|from| position > from))
            .collect();
        positions.sort();
        let mut budget = SearchBudget::default();
        let mut page = JobPage::default();
        for position in &positions {
            let job = &self.jobs[&position.id];
            let payload = job.payload.as_ref().filter(|_| reads_payloads);
            budget.spend(payload.map_or(0, |payload| payload.len()));
            if is_match(job) {
                page.items.push(position.id.clone());
            }
            if page.items.len() == limit || budget.rest() == 0 {
                let has_more = budget.jobs() < positions.len();
                page.next = has_more.then(|| position.to_cursor());
                break;
            }
        }
        page.scanned = budget.jobs();
        page
    }

    /// The position of a job: all jobs by id; those of one state by claim, due time or end, and ready ones by group,
    /// lane and position.
    fn scan_position(&self, job: &Job, state: Option<JobState>) -> ScanPosition {
        let order = match state {
            None => (0, 0),
            Some(JobState::Scheduled) => (job.due_at.as_ms(), 0),
            Some(JobState::Ready) => self.positions[&job.id],
            Some(JobState::Running) => job
                .token
                .map(|token| self.claim_order(&job.id, token))
                .unwrap_or_default(),
            Some(_) => (job.finished_at.unwrap_or_default().as_ms(), 0),
        };
        let is_in_line = state == Some(JobState::Ready);
        let group = job.group.as_ref().filter(|_| is_in_line);
        ScanPosition {
            group: group.map_or_else(String::new, ToString::to_string),
            order,
            id: job.id.clone(),
        }
    }

    pub(crate) fn stats(&self, now: Now) -> Stats {
        let (opening, read_at) = (self.opens_at(now), now);
        let now = now.ms();
        let of_state = |state| self.jobs.values().filter(move |job| job.state == state);
        let count = |state| of_state(state).count() as u64;
        let ready_in = |priority| {
            let jobs = of_state(JobState::Ready);
            jobs.filter(|job| job.priority == priority).count() as u64
        };
        let mut ready_by_priority = [0; Priority::COUNT];
        for priority in Priority::all() {
            ready_by_priority[priority.index()] = ready_in(priority);
        }
        let heads = Priority::all().flat_map(lanes);
        let heads = heads.filter_map(|lane| self.lane(lane).next());
        let oldest = heads.map(|id| self.jobs[id].due_at).min();
        let next = self.scheduled.first().map(|(due_at, _)| *due_at);
        let next = [
            next,
            self.next_firing(),
            opening,
            self.next_group_opening(read_at),
        ];
        let next = next.into_iter().flatten().min();
        Stats {
            ready: self.positions.len() as u64,
            ready_by_priority,
            pending: count(JobState::Pending),
            scheduled: self.scheduled.len() as u64,
            running: count(JobState::Running),
            succeeded: count(JobState::Succeeded),
            dead: count(JobState::Dead),
            cancelled: count(JobState::Cancelled),
            bytes: self.jobs.values().map(stored_bytes).sum(),
            stale_entries: 0,
            oldest_ms: oldest.map(|due_at| now.as_ms().saturating_sub(due_at.as_ms())),
            schedules: self.schedules.len() as u64,
            next_due_ms: next.map(|due_at| due_at.as_ms().saturating_sub(now.as_ms())),
            is_paused: self.is_paused,
            resting_ms: (self.resting_until > now)
                .then(|| self.resting_until.as_ms() - now.as_ms()),
            total: self.total,
            last_minute: Rates {
                enqueued: self.enqueued.last_minute(now),
                finished: self.ended.last_minute(now),
            },
        }
    }
}

/// A position in a listing; its text form is the cursor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ScanPosition {
    /// Empty without a group.
    group: String,
    order: (u64, i64),
    id: JobId,
}

impl ScanPosition {
    fn to_cursor(&self) -> Cursor {
        // No name contains a tab.
        let (first, second) = self.order;
        Cursor(format!("{}\t{first}\t{second}\t{}", self.group, self.id))
    }

    pub(crate) fn from_cursor(cursor: &Cursor) -> Result<Self> {
        let parse = || {
            let mut fields = cursor.0.splitn(4, '\t');
            let group = fields.next()?.to_owned();
            let order = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            let id = JobId::new(fields.next()?).ok()?;
            Some(Self { group, order, id })
        };
        parse().ok_or_else(|| Error::invalid("cursor", "malformed", "start again without a cursor"))
    }
}
