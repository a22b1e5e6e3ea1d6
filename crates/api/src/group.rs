//! The JSON form of a group.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{GroupLimits, GroupName, GroupRecord, OwnLimit, Settings};
use windlass_core::{QueueName, Result};

use crate::timestamp;

/// A group of jobs, and the limits that apply to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupReply {
    /// The queue.
    pub queue: String,
    /// The name of the group.
    pub group: String,
    /// Its ready jobs.
    pub ready: u64,
    /// Its slots in use: running jobs, and with `group_slot` job or success also those that keep theirs while they
    /// wait.
    pub running: u64,
    /// The maximum number of slots; null without a limit.
    pub max_running: Option<u32>,
    /// The maximum number of jobs handed out per period; null without a limit.
    pub rate: Option<String>,
    /// The burst of the rate; null without a rate.
    pub burst: Option<u32>,
    /// When the rate allows the next job, if it is closed now.
    pub opens_at: Option<String>,
    /// Until when a snooze lets the group rest.
    pub resting_until: Option<String>,
    /// Whether it is paused.
    pub paused: bool,
    /// The limits as set for this group.
    pub own: OwnLimitsReply,
}

/// The limits as set for a single group: `default` for those of the queue, `none`, or a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::GroupLimits`"
)]
pub struct OwnLimitsReply {
    pub max_running: String,
    pub rate: String,
    pub burst: String,
}

impl GroupReply {
    /// Creates the reply for one group of a queue with these settings.
    pub fn new(queue: &QueueName, record: &GroupRecord, settings: &Settings) -> Self {
        let limits = &record.limits;
        let rate = limits.rate.or(settings.group_rate);
        let burst = limits.burst.map_or(OwnLimit::Default, OwnLimit::At);
        Self {
            queue: queue.to_string(),
            group: record.name.to_string(),
            ready: record.ready,
            running: record.slots,
            max_running: limits.max_running(settings),
            rate: rate.map(|rate| rate.to_string()),
            burst: rate.and_then(|_| burst.or(Some(settings.group_burst))),
            opens_at: record.opens_at.map(timestamp::format),
            resting_until: record.resting_until.map(timestamp::format),
            paused: record.is_paused,
            own: OwnLimitsReply {
                max_running: limits.max_running.to_string(),
                rate: limits.rate.to_string(),
                burst: burst.to_string(),
            },
        }
    }

    /// Converts the reply back.
    pub fn into_record(self) -> Result<GroupRecord> {
        let time = |text: Option<String>| text.as_deref().map(timestamp::parse).transpose();
        let mut own = windlass_core::store::GroupChange::default();
        own.set("max_running", &self.own.max_running)?;
        own.set("rate", &self.own.rate)?;
        own.set("burst", &self.own.burst)?;
        Ok(GroupRecord {
            name: GroupName::new(&self.group)?,
            ready: self.ready,
            slots: self.running,
            is_paused: self.paused,
            resting_until: time(self.resting_until)?,
            opens_at: time(self.opens_at)?,
            limits: own.apply(GroupLimits::default()),
        })
    }
}
