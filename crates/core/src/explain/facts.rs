//! What a store reads to explain why a job waits.

use std::time::Duration;

use crate::group::GroupLimits;
use crate::job::{Job, JobState};
use crate::name::{BootId, GroupName, JobId, QueueName};
use crate::setting::Settings;
use crate::time::{Now, Timestamp};
use crate::worker::WorkerRecord;

/// The facts about one job. Of a store with partitions, those of its partition.
#[derive(Debug, Clone)]
pub struct WaitFacts {
    /// The job with the end of its lease. Its payload and result are not needed.
    pub job: Job,
    /// The time of the transaction.
    pub now: Now,
    /// The settings of the queue.
    pub settings: Settings,
    /// Whether the queue is paused.
    pub is_paused: bool,
    /// Until when the queue rests.
    pub resting_until: Timestamp,
    /// The number of the rate limit of the queue.
    pub rate_next_us: u64,
    /// The running jobs.
    pub running: u64,
    /// The jobs that finished in the last minute.
    pub finished: u64,
    /// The job whose end a pending job waits for, with its state.
    pub waits_for: Option<(JobId, JobState)>,
    /// What comes before a ready job.
    pub ahead: JobsAhead,
    /// The group of a waiting job.
    pub group: Option<GroupFacts>,
    /// The worker that was seen last, of those that serve the queue. Only of a waiting job.
    pub last_worker: Option<LastWorker>,
}

/// The group of a waiting job.
#[derive(Debug, Clone)]
pub struct GroupFacts {
    /// The name.
    pub name: GroupName,
    /// Its own limits.
    pub limits: GroupLimits,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Until when it rests.
    pub resting_until: Timestamp,
    /// The number of its rate limit.
    pub rate_next_us: u64,
    /// The number of slots in use.
    pub slots: u64,
    /// Whether the job holds one of them.
    pub holds_slot: bool,
    /// Up to [`HOLDERS_MAX`](super::HOLDERS_MAX) jobs that hold a slot, ordered by id. Only for a ready job.
    pub holders: Vec<SlotHolder>,
    /// Its first ready job.
    pub first: Option<JobId>,
}

/// A job that holds a slot of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotHolder {
    /// The job.
    pub id: JobId,
    /// Its state: in an ordered lane it may wait, or be dead.
    pub state: JobState,
    /// The worker that runs it, if known.
    pub worker: Option<BootId>,
    /// Since when it runs.
    pub since: Option<Timestamp>,
}

/// The ready jobs that come before a ready job. Groups take turns, so jobs of other groups count only if their
/// priority is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobsAhead {
    /// Ready jobs of the queue with a more urgent priority. Exact.
    pub more_urgent: u64,
    /// Those of its group, or without a group, that come before it and are not among the more urgent. In an ordered
    /// lane: all that come before it.
    pub in_line: u64,
    /// All jobs of its group that come before it. Exact.
    pub in_group: u64,
    /// Whether `in_line` is an estimate, which is then at least 1.
    pub is_estimate: bool,
}

impl JobsAhead {
    /// Returns how many jobs come first.
    pub const fn total(&self) -> u64 {
        self.more_urgent.saturating_add(self.in_line)
    }
}

/// When a worker was seen, by the clock of the worker registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastWorker {
    /// Time of its last heartbeat.
    pub last_seen: Timestamp,
    /// Time since then.
    pub silent_for: Duration,
}

impl LastWorker {
    /// Returns the worker that was seen last, of those that serve a queue.
    pub fn of_queue(workers: &[WorkerRecord], queue: &QueueName) -> Option<Self> {
        let serving = workers.iter();
        let serving = serving.filter(|worker| worker.new.queues.contains(queue));
        let last = serving.min_by_key(|worker| worker.silent_for)?;
        Some(Self {
            last_seen: last.last_seen,
            silent_for: last.silent_for,
        })
    }
}
