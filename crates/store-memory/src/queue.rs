//! The state of one queue, and the transitions of its jobs.
//!
//! A job is in exactly one index: a line (ready), the scheduled jobs, the waiting job of a schedule
//! (pending), a claim (running) or the finished jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_core::history::OpenMinute;
use windlass_core::limits::SUSPECT_AFTER;
use windlass_core::notification::Notification;
use windlass_core::queue::MinuteCount;
use windlass_core::store::{
    GroupName, GroupSlot, HistoryRow, Owner, Requeue, ScheduleRecord, Settings, Totals, UniqueKey,
};
use windlass_core::time::Now;
use windlass_core::{
    Enqueued, Job, JobId, JobState, OutcomeStatus, Priority, QueueName, ScheduleName, Timestamp,
    Token,
};

use crate::errors::{GroupKey, StoredGroup};
use crate::group::Group;

/// The state of one queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    pub(crate) is_paused: bool,
    /// Until when a snooze lets the queue rest.
    pub(crate) resting_until: Timestamp,
    /// The number of the rate limit.
    pub(crate) rate_next_us: u64,
    /// The time of the last transaction that changed something, in microseconds.
    pub(crate) mark_us: u64,
    pub(crate) last_token: u64,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    /// Ready jobs without a group by lane and position.
    pub(crate) ready: BTreeMap<(u64, i64), JobId>,
    /// The lane and position of each ready job.
    pub(crate) positions: BTreeMap<JobId, (u64, i64)>,
    pub(crate) groups: BTreeMap<GroupName, Group>,
    /// The last turn of any group, and of the jobs without a group.
    pub(crate) turn: u64,
    pub(crate) ungrouped_turn: u64,
    pub(crate) scheduled: BTreeSet<(Timestamp, JobId)>,
    /// Waiting jobs with an expiry.
    pub(crate) expiring: BTreeSet<(Timestamp, JobId)>,
    pub(crate) finished: BTreeMap<JobState, Finished>,
    pub(crate) unique_keys: BTreeMap<UniqueKey, JobId>,
    pub(crate) tombstones: BTreeMap<Remembered, Tombstone>,
    pub(crate) schedules: BTreeMap<ScheduleName, ScheduleRecord>,
    pub(crate) error_groups: BTreeMap<GroupKey, StoredGroup>,
    pub(crate) leases: BTreeMap<Owner, Lease>,
    pub(crate) claims: BTreeMap<Token, ClaimRecord>,
    pub(crate) total: Totals,
    /// Attempts failed since the queue was created.
    pub(crate) failed: u64,
    pub(crate) open_minute: OpenMinute,
    /// The rows of past minutes, oldest first.
    pub(crate) history: Vec<HistoryRow>,
    pub(crate) enqueued: MinuteCount,
    pub(crate) ended: MinuteCount,
    /// The last positions used at the two ends of the lanes.
    pub(crate) front: i64,
    pub(crate) back: i64,
    /// The time of the current transaction.
    pub(crate) now: Now,
    /// Jobs finished in this transaction that are kept or remembered; twice as many are pruned.
    pub(crate) kept_in_transaction: usize,
    notifications: Vec<Notification>,
    is_changed: bool,
}

/// Finished jobs of one state, oldest first, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) by_end: BTreeSet<(Timestamp, JobId)>,
    pub(crate) bytes: u64,
}

/// What a tombstone remembers: [`Settings::dedup_max`] bounds them together. The first expires first, at the
/// same time in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remembered {
    /// A unique key that is held after its job ended.
    Key(UniqueKey),
    /// The id of an ended job, or of an enqueue that replaced or postponed another job.
    Id(JobId),
}

/// The reply to an enqueue of a remembered key or id.
#[derive(Debug, Clone)]
pub(crate) struct Tombstone {
    pub(crate) reply: Enqueued,
    pub(crate) until: Timestamp,
}

/// A time-limited lease on jobs.
#[derive(Debug)]
pub(crate) struct Lease {
    /// 0 while the lease is being reaped.
    pub(crate) until: Timestamp,
    pub(crate) length: Duration,
    /// The latest claim of a boot.
    pub(crate) last: Option<(u64, Token)>,
    /// The last suspect that a boot claimed.
    pub(crate) suspect: Option<(JobId, Token)>,
}

/// The jobs of a claim, and how each one left it.
#[derive(Debug)]
pub(crate) struct ClaimRecord {
    pub(crate) owner: Owner,
    pub(crate) seq: u64,
    pub(crate) ids: Vec<JobId>,
    pub(crate) left: BTreeMap<JobId, OutcomeStatus>,
    pub(crate) finished_at: Option<Timestamp>,
}

/// The two lanes of a priority, in claim order: its suspects, then all others.
pub(crate) fn lanes(priority: Priority) -> [u64; 2] {
    let level = u64::from(priority.level());
    [level * 2, level * 2 + 1]
}

/// The lane of a ready job.
pub(crate) fn lane_of(job: &Job) -> u64 {
    let [suspects, others] = lanes(job.priority);
    if job.expiries >= SUSPECT_AFTER {
        suspects
    } else {
        others
    }
}

impl Queue {
    pub(crate) fn new(name: QueueName) -> Self {
        Self {
            name,
            settings: Settings::default(),
            is_paused: false,
            resting_until: Timestamp::default(),
            rate_next_us: 0,
            mark_us: 0,
            last_token: 0,
            jobs: BTreeMap::new(),
            ready: BTreeMap::new(),
            positions: BTreeMap::new(),
            groups: BTreeMap::new(),
            turn: 0,
            ungrouped_turn: 0,
            scheduled: BTreeSet::new(),
            expiring: BTreeSet::new(),
            finished: BTreeMap::new(),
            unique_keys: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            schedules: BTreeMap::new(),
            error_groups: BTreeMap::new(),
            leases: BTreeMap::new(),
            claims: BTreeMap::new(),
            total: Totals::default(),
            failed: 0,
            open_minute: OpenMinute::default(),
            history: Vec::new(),
            enqueued: MinuteCount::default(),
            ended: MinuteCount::default(),
            front: 0,
            back: 0,
            now: Timestamp::default().into(),
            kept_in_transaction: 0,
            notifications: Vec::new(),
            is_changed: false,
        }
    }

    /// Starts a transaction. If the clock was set back, leases are shortened.
    pub(crate) fn begin(&mut self, clock_us: u64) {
        self.now = Now::guard(self.mark_us, clock_us);
        if self.now.stepped_back {
            for lease in self.leases.values_mut() {
                lease.until = lease.until.min(self.now.ms().plus(lease.length));
            }
            if let Some(limit) = self.settings.rate_limit() {
                self.rate_next_us = limit.cut(self.rate_next_us, self.now.us);
            }
            self.cut_group_rates();
            self.mark_changed();
        }
    }

    /// Ends a transaction. Only a transaction that changed something moves the high-water mark.
    pub(crate) fn end(&mut self) -> Vec<Notification> {
        if std::mem::take(&mut self.is_changed) {
            self.mark_us = self.now.us;
        }
        self.kept_in_transaction = 0;
        self.remove_groups();
        std::mem::take(&mut self.notifications)
    }

    /// Records that this transaction changed the state.
    pub(crate) fn mark_changed(&mut self) {
        self.is_changed = true;
    }

    /// Notifies subscribers that a job entered a state.
    pub(crate) fn announce(&mut self, id: &JobId, state: JobState) {
        self.notifications
            .push(Notification::Event(self.name.clone(), id.clone(), state));
        if state == JobState::Ready {
            self.announce_work();
        }
    }

    /// Notifies subscribers that a job is ready, or is due earlier than expected.
    pub(crate) fn announce_work(&mut self) {
        let notification = Notification::Work(self.name.clone());
        if !self.notifications.contains(&notification) {
            self.notifications.push(notification);
        }
    }

    pub(crate) fn announce_cancel(&mut self, id: &JobId) {
        self.notifications
            .push(Notification::Cancel(self.name.clone(), id.clone()));
    }

    /// The job with an id that is in an index.
    pub(crate) fn job(&mut self, id: &JobId) -> &mut Job {
        self.jobs.get_mut(id).expect("a job in an index is stored")
    }

    /// The jobs of a lane, in order.
    pub(crate) fn lane(&self, lane: u64) -> impl Iterator<Item = &JobId> {
        self.ready
            .range((lane, i64::MIN)..=(lane, i64::MAX))
            .map(|(_, id)| id)
    }

    /// Adds a job that is in no index to an end of its lane in its line.
    pub(crate) fn insert_ready(&mut self, id: &JobId, end: Requeue) {
        let position = match end {
            Requeue::Front => {
                self.front -= 1;
                self.front
            }
            Requeue::Back => {
                self.back += 1;
                self.back
            }
        };
        let job = self.job(id);
        job.state = JobState::Ready;
        job.started_at = None;
        let group = job.group.clone();
        let lane = self.lane_in_line(&self.jobs[id]);
        let line = self.line_of(group.as_ref());
        let is_first = line.insert((lane, position), id.clone()).is_none() && line.len() == 1;
        if let Some(group) = group.filter(|_| is_first) {
            self.arrive(&group);
        }
        self.positions.insert(id.clone(), (lane, position));
        self.announce_waiting(id, JobState::Ready);
    }

    /// Adds a job that is in no index to the ready jobs, or to the scheduled ones if it is due later.
    pub(crate) fn insert_due(&mut self, id: &JobId, due_at: Timestamp) {
        if due_at <= self.now.ms() {
            self.insert_ready(id, Requeue::Back);
        } else {
            self.insert_scheduled(id, due_at);
        }
    }

    /// Makes a job that is in no index wait for the previous job of its schedule.
    pub(crate) fn insert_pending(&mut self, id: &JobId) {
        self.job(id).state = JobState::Pending;
        self.announce_waiting(id, JobState::Pending);
    }

    /// Adds a job that is in no index to the scheduled jobs.
    pub(crate) fn insert_scheduled(&mut self, id: &JobId, due_at: Timestamp) {
        let job = self.job(id);
        job.state = JobState::Scheduled;
        job.started_at = None;
        job.due_at = due_at;
        self.scheduled.insert((due_at, id.clone()));
        self.announce_waiting(id, JobState::Scheduled);
        if self.scheduled.first().is_some_and(|(_, first)| first == id) {
            self.announce_work();
        }
    }

    /// Announces a job that waits now, and adds it to the jobs with an expiry if it has one.
    fn announce_waiting(&mut self, id: &JobId, state: JobState) {
        if let Some(at) = self.job(id).expires_at {
            self.expiring.insert((at, id.clone()));
        }
        self.announce(id, state);
        self.mark_changed();
    }

    /// Removes a waiting job from its line or the scheduled jobs.
    pub(crate) fn remove_waiting(&mut self, id: &JobId) {
        if let Some(position) = self.positions.remove(id) {
            let group = self.jobs[id].group.clone();
            self.line_of(group.as_ref()).remove(&position);
        }
        let job = &self.jobs[id];
        self.scheduled.remove(&(job.due_at, id.clone()));
        if let Some(at) = job.expires_at {
            self.expiring.remove(&(at, id.clone()));
        }
        self.mark_changed();
    }

    /// Adds a waiting job that was changed to its indexes again: a ready one at its former position.
    pub(crate) fn restore(&mut self, id: &JobId, position: Option<(u64, i64)>) {
        let job = &self.jobs[id];
        if job.state == JobState::Scheduled {
            self.scheduled.insert((job.due_at, id.clone()));
        }
        if let Some(at) = job.expires_at {
            self.expiring.insert((at, id.clone()));
        }
        if let Some(position) = position {
            let group = job.group.clone();
            self.line_of(group.as_ref()).insert(position, id.clone());
            self.positions.insert(id.clone(), position);
        }
        self.mark_changed();
    }

    /// Records how a running job left its claim, and clears the fields of a running job.
    pub(crate) fn leave_claim(&mut self, id: &JobId, status: OutcomeStatus) {
        self.mark_changed();
        // A slot of the queue is free.
        if self.settings.max_running.is_some() && !self.positions.is_empty() {
            self.announce_work();
        }
        if self.settings.group_slot == GroupSlot::Run {
            self.leave_slot(id);
        }
        let job = self.job(id);
        job.worker = None;
        job.accepted_at = None;
        job.progress = None;
        job.is_cancel_requested = false;
        let Some(token) = job.token.take() else {
            return;
        };
        let Some(claim) = self.claims.get_mut(&token) else {
            return;
        };
        claim.left.insert(id.clone(), status);
        if claim.left.len() == claim.ids.len() {
            claim.finished_at = Some(self.now.ms());
            // The lease of a single claim ends with its last job; that of a boot continues.
            self.leases.remove(&Owner::token(token));
        }
    }

    /// Adds unfinished jobs to their lines, keeping their order.
    pub(crate) fn requeue_in_order(&mut self, mut ids: Vec<JobId>) {
        let end = self.settings.requeue;
        if end == Requeue::Front {
            ids.reverse();
        }
        for id in &ids {
            self.insert_ready(id, end);
        }
    }

    /// Returns the job if the token is valid for it.
    pub(crate) fn leased(&self, id: &JobId, token: Token) -> Option<&Job> {
        self.jobs.get(id).filter(|job| job.token == Some(token))
    }
}
