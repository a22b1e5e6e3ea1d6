//! The state of one queue and the moves between its places.
//!
//! A job is in exactly one place: a lane (ready), the schedule, a claim (running) or the finished.

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

/// One queue.
#[derive(Debug)]
pub struct Queue {
    pub(crate) name: QueueName,
    pub(crate) settings: Settings,
    pub(crate) is_paused: bool,
    /// The latest time any step that changed something has seen, in microseconds.
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
    /// Positions given out at the two ends of the lanes.
    pub(crate) front: i64,
    pub(crate) back: i64,
    /// Ended in this step and kept or remembered: what the step must prune after itself.
    pub(crate) kept_in_step: usize,
    hints: Vec<Notification>,
    is_changed: bool,
}

/// A job, its position in a lane, and its place in the claim that holds it.
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

/// The right to hold jobs until a time.
#[derive(Debug)]
pub(crate) struct Lease {
    /// 0 once its reaping has begun.
    pub(crate) until: Timestamp,
    pub(crate) length: Duration,
    /// The latest claim of a boot.
    pub(crate) last: Option<(u64, Token)>,
    /// The latest suspect a boot took.
    pub(crate) suspect: Option<(JobId, Token)>,
}

/// What one claim handed out, and how each job left it.
#[derive(Debug)]
pub(crate) struct ClaimRecord {
    pub(crate) owner: Owner,
    pub(crate) seq: u64,
    pub(crate) ids: Vec<JobId>,
    pub(crate) left: BTreeMap<JobId, OutcomeStatus>,
    pub(crate) finished_at: Option<Timestamp>,
}

/// Which end of its lane a job goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
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
            kept_in_step: 0,
            hints: Vec::new(),
            is_changed: false,
        }
    }

    /// Reads the clock for one step. A clock set far back is believed, and leases are cut.
    pub(crate) fn begin(&mut self, clock_us: u64) -> Now {
        let now = Now::guard(self.mark_us, clock_us);
        if now.stepped_back {
            for lease in self.leases.values_mut() {
                lease.until = lease.until.min(now.ms().plus(lease.length));
            }
            self.changed();
        }
        now
    }

    /// Ends a step: only one that changed something moves the mark.
    pub(crate) fn end(&mut self, now: Now) -> Vec<Notification> {
        if std::mem::take(&mut self.is_changed) {
            self.mark_us = now.us;
        }
        self.kept_in_step = 0;
        std::mem::take(&mut self.hints)
    }

    /// Notes that this step changes the state.
    pub(crate) fn changed(&mut self) {
        self.is_changed = true;
    }

    /// Tells listeners that a job came into a state.
    pub(crate) fn announce(&mut self, id: &JobId, state: JobState) {
        self.hints
            .push(Notification::Event(self.name.clone(), id.clone(), state));
        if state == JobState::Ready {
            self.announce_work();
        }
    }

    /// Tells listeners that a claim may find something, now or sooner than it expected.
    pub(crate) fn announce_work(&mut self) {
        let hint = Notification::Work(self.name.clone());
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
    }

    pub(crate) fn announce_cancel(&mut self, id: &JobId) {
        self.hints
            .push(Notification::Cancel(self.name.clone(), id.clone()));
    }

    /// The end of its lane that a job goes to when it comes back unfinished.
    pub(crate) fn requeue_end(&self) -> End {
        match self.settings.requeue {
            Requeue::Front => End::Front,
            Requeue::Back => End::Back,
        }
    }

    /// Puts a job that is in no place into its lane.
    pub(crate) fn place_ready(&mut self, id: &JobId, end: End) {
        let position = match end {
            End::Front => {
                self.front -= 1;
                self.front
            }
            End::Back => {
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
        self.watch_expiry(id, expires_at);
        self.announce(id, JobState::Ready);
        self.changed();
    }

    /// Puts a job that is in no place into the schedule.
    pub(crate) fn place_scheduled(&mut self, id: &JobId, due_at: Timestamp) {
        let Some(entry) = self.jobs.get_mut(id) else {
            return;
        };
        entry.job.state = JobState::Scheduled;
        entry.job.due_at = due_at;
        let expires_at = entry.job.expires_at;
        self.scheduled.insert((due_at, id.clone()));
        self.watch_expiry(id, expires_at);
        self.announce(id, JobState::Scheduled);
        if self.scheduled.first().is_some_and(|(_, first)| first == id) {
            self.announce_work();
        }
        self.changed();
    }

    fn watch_expiry(&mut self, id: &JobId, expires_at: Option<Timestamp>) {
        if let Some(at) = expires_at {
            self.expiring.insert((at, id.clone()));
        }
    }

    /// Takes a waiting job out of its lane or the schedule.
    pub(crate) fn unplace(&mut self, id: &JobId) {
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
        self.changed();
    }

    /// Notes how a running job left its claim, and wipes what only a running job has.
    pub(crate) fn leave_claim(&mut self, id: &JobId, how: OutcomeStatus, now: Timestamp) {
        self.changed();
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
        claim.left.insert(id.clone(), how);
        if claim.left.len() == claim.ids.len() {
            claim.finished_at = Some(now);
            // A single claim's lease has nothing left to hold; a boot's goes on.
            self.leases.remove(&Owner::token(token));
        }
    }

    /// The entry of a job that a token holds.
    pub(crate) fn held(&self, id: &JobId, token: Token) -> Option<&Entry> {
        self.jobs
            .get(id)
            .filter(|entry| entry.job.token == Some(token))
    }
}
