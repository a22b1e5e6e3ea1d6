//! The state of one queue, and the transitions of its jobs.
//!
//! A job is in exactly one index: a lane (ready), the schedule, a claim (running) or the finished jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_core::notification::Notification;
use windlass_core::queue::MinuteCount;
use windlass_core::time::Now;
use windlass_core::{
    Job, JobId, JobState, OutcomeStatus, Owner, Priority, QueueName, Requeue, Settings, Timestamp,
    Token, Totals, UniqueKey,
};

use windlass_core::limits::SUSPECT_AFTER;

/// The state of one queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    pub(crate) is_paused: bool,
    /// The time of the last transaction that changed something, in microseconds.
    pub(crate) mark_us: u64,
    pub(crate) last_token: u64,
    pub(crate) jobs: BTreeMap<JobId, Entry>,
    pub(crate) lanes: [Lanes; Priority::COUNT],
    pub(crate) scheduled: BTreeSet<(Timestamp, JobId)>,
    /// Waiting jobs with an expiry.
    pub(crate) expiring: BTreeSet<(Timestamp, JobId)>,
    pub(crate) finished: BTreeMap<JobState, Finished>,
    pub(crate) unique_keys: BTreeMap<UniqueKey, JobId>,
    pub(crate) tombstones: BTreeMap<JobId, (JobState, Timestamp)>,
    pub(crate) leases: BTreeMap<Owner, Lease>,
    pub(crate) claims: BTreeMap<Token, ClaimRecord>,
    pub(crate) total: Totals,
    pub(crate) enqueued: MinuteCount,
    pub(crate) ended: MinuteCount,
    /// The last positions used at the two ends of the lanes.
    pub(crate) front: i64,
    pub(crate) back: i64,
    /// Jobs finished in this transaction that are kept or remembered; twice as many are pruned.
    pub(crate) kept_in_transaction: usize,
    notifications: Vec<Notification>,
    is_changed: bool,
}

/// A job and its position in a lane.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) job: Job,
    pub(crate) position: i64,
}

/// The ready jobs of one priority: position → id.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(crate) suspects: BTreeMap<i64, JobId>,
    pub(crate) others: BTreeMap<i64, JobId>,
}

/// Finished jobs of one state, oldest first, and their bytes.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) by_end: BTreeSet<(Timestamp, JobId)>,
    pub(crate) bytes: u64,
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

/// An end of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneEnd {
    Front,
    Back,
}

impl Queue {
    pub(crate) fn new(name: QueueName) -> Self {
        Self {
            name,
            settings: Settings::default(),
            is_paused: false,
            mark_us: 0,
            last_token: 0,
            jobs: BTreeMap::new(),
            lanes: Default::default(),
            scheduled: BTreeSet::new(),
            expiring: BTreeSet::new(),
            finished: BTreeMap::new(),
            unique_keys: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            leases: BTreeMap::new(),
            claims: BTreeMap::new(),
            total: Totals::default(),
            enqueued: MinuteCount::default(),
            ended: MinuteCount::default(),
            front: 0,
            back: 0,
            kept_in_transaction: 0,
            notifications: Vec::new(),
            is_changed: false,
        }
    }

    /// Starts a transaction. If the clock was set back, leases are shortened.
    pub(crate) fn begin(&mut self, clock_us: u64) -> Now {
        let now = Now::guard(self.mark_us, clock_us);
        if now.stepped_back {
            for lease in self.leases.values_mut() {
                lease.until = lease.until.min(now.ms().plus(lease.length));
            }
            self.mark_changed();
        }
        now
    }

    /// Ends a transaction. Only a transaction that changed something moves the high-water mark.
    pub(crate) fn end(&mut self, now: Now) -> Vec<Notification> {
        if std::mem::take(&mut self.is_changed) {
            self.mark_us = now.us;
        }
        self.kept_in_transaction = 0;
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

    /// The end of the lane to which returned jobs are added.
    pub(crate) fn requeue_end(&self) -> LaneEnd {
        match self.settings.requeue {
            Requeue::Front => LaneEnd::Front,
            Requeue::Back => LaneEnd::Back,
        }
    }

    /// Adds a job that is in no index to its lane.
    pub(crate) fn insert_ready(&mut self, id: &JobId, end: LaneEnd) {
        let position = match end {
            LaneEnd::Front => {
                self.front -= 1;
                self.front
            }
            LaneEnd::Back => {
                self.back += 1;
                self.back
            }
        };
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.position = position;
        entry.job.state = JobState::Ready;
        let expires_at = entry.job.expires_at;
        let lanes = &mut self.lanes[entry.job.priority.index()];
        let lane = if entry.job.expiries >= SUSPECT_AFTER {
            &mut lanes.suspects
        } else {
            &mut lanes.others
        };
        lane.insert(position, id.clone());
        self.index_expiry(id, expires_at);
        self.announce(id, JobState::Ready);
        self.mark_changed();
    }

    /// Adds a job that is in no index to the schedule.
    pub(crate) fn insert_scheduled(&mut self, id: &JobId, due_at: Timestamp) {
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.job.state = JobState::Scheduled;
        entry.job.due_at = due_at;
        let expires_at = entry.job.expires_at;
        self.scheduled.insert((due_at, id.clone()));
        self.index_expiry(id, expires_at);
        self.announce(id, JobState::Scheduled);
        if self.scheduled.first().is_some_and(|(_, first)| first == id) {
            self.announce_work();
        }
        self.mark_changed();
    }

    fn index_expiry(&mut self, id: &JobId, expires_at: Option<Timestamp>) {
        if let Some(at) = expires_at {
            self.expiring.insert((at, id.clone()));
        }
    }

    /// Removes a waiting job from its lane or the schedule.
    pub(crate) fn remove_waiting(&mut self, id: &JobId) {
        let Some(entry) = self.jobs.get(id) else {
            return;
        };
        match entry.job.state {
            JobState::Ready => {
                let lanes = &mut self.lanes[entry.job.priority.index()];
                lanes.suspects.remove(&entry.position);
                lanes.others.remove(&entry.position);
            }
            JobState::Scheduled => {
                self.scheduled.remove(&(entry.job.due_at, id.clone()));
            }
            _ => {}
        }
        if let Some(at) = entry.job.expires_at {
            self.expiring.remove(&(at, id.clone()));
        }
        self.mark_changed();
    }

    /// Records how a running job left its claim, and clears the fields of a running job.
    pub(crate) fn leave_claim(&mut self, id: &JobId, status: OutcomeStatus, now: Timestamp) {
        self.mark_changed();
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        let job = &mut entry.job;
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
            claim.finished_at = Some(now);
            // The lease of a single claim ends with its last job; that of a boot continues.
            self.leases.remove(&Owner::token(token));
        }
    }

    /// Returns the job if the token is valid for it.
    pub(crate) fn leased(&self, id: &JobId, token: Token) -> Option<&Entry> {
        self.jobs
            .get(id)
            .filter(|entry| entry.job.token == Some(token))
    }
}
