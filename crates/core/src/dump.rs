//! The complete state of a queue in a canonical form, to compare stores.
//!
//! For tests and debugging: creating a dump scans the whole queue.

use std::time::Duration;

use async_trait::async_trait;

use crate::claim::Owner;
use crate::enqueued::Enqueued;
use crate::error::Result;
use crate::error_group::ErrorGroup;
use crate::group::GroupRecord;
use crate::history::HistoryRow;
use crate::job::{Job, JobState};
use crate::name::{GroupName, JobId, QueueName, UniqueKey};
use crate::outcome::OutcomeStatus;
use crate::queue::Stats;
use crate::schedule::ScheduleRecord;
use crate::setting::Settings;
use crate::time::Timestamp;
use crate::token::Token;

/// A store that can dump its state.
#[async_trait]
pub trait Dump {
    /// Returns the state of one queue, or `None` if it does not exist.
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>>;
}

/// The complete state of one queue. Lists are ordered by key unless noted.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueDump {
    /// Ready jobs without a group by priority, in claim order: suspects, then other jobs.
    pub ready: Vec<(Vec<JobId>, Vec<JobId>)>,
    /// Groups.
    pub groups: Vec<GroupDump>,
    /// Groups with ready jobs in the order of their turns; `None` is the jobs without a group. Empty if no group has
    /// ready jobs.
    pub turns: Vec<Option<GroupName>>,
    /// Every job, with payload and result.
    pub jobs: Vec<Job>,
    /// The unique keys in use and their jobs.
    pub unique_keys: Vec<(UniqueKey, JobId)>,
    /// Ids of finished jobs that are still remembered, with state and expiry.
    pub tombstones: Vec<(JobId, JobState, Timestamp)>,
    /// Unique keys that are held after their job ended, with its id, state and the end of the hold.
    pub held_keys: Vec<(UniqueKey, JobId, JobState, Timestamp)>,
    /// Ids of enqueues that replaced or postponed another job, with their replies and expiries.
    pub amendments: Vec<(JobId, Enqueued, Timestamp)>,
    /// Schedules.
    pub schedules: Vec<ScheduleRecord>,
    /// Groups of errors, the one seen last first.
    pub error_groups: Vec<ErrorGroup>,
    /// Leases, by owner.
    pub leases: Vec<LeaseDump>,
    /// Claims that are open, or finished and still remembered.
    pub claims: Vec<ClaimDump>,
    /// The queue's stats.
    pub stats: Stats,
    /// The queue's history.
    pub history: Vec<HistoryRow>,
    /// The queue's settings.
    pub settings: Settings,
    /// When the next claim would be on schedule, in microseconds, if the queue has a rate.
    pub rate_next_us: Option<u64>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDump {
    /// What an operator sees.
    pub record: GroupRecord,
    /// Its ready jobs, in claim order.
    pub line: Vec<JobId>,
    /// The jobs that hold a slot, ordered by id.
    pub holders: Vec<JobId>,
    /// When the next claim would be on schedule, in microseconds, if the group has a rate and this is in the future.
    pub rate_next_us: Option<u64>,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseDump {
    /// The boot, or the token of a single claim.
    pub owner: Owner,
    /// When it expires; 0 while it is being reaped.
    pub until: Timestamp,
    /// The duration of the last claim or renewal.
    pub length: Duration,
    /// The seq and token of the latest claim of a boot.
    pub last: Option<(u64, Token)>,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDump {
    /// The token.
    pub token: Token,
    /// The owner of the lease.
    pub owner: Owner,
    /// The sequence number; 0 for single claims.
    pub seq: u64,
    /// The number of jobs claimed.
    pub size: usize,
    /// The number of jobs still running.
    pub remaining: usize,
    /// Jobs that left the claim other than by completion, ordered by id.
    pub left: Vec<(JobId, OutcomeStatus)>,
    /// When the last job of the claim ended or was returned.
    pub finished_at: Option<Timestamp>,
}
