//! The JSON form of stats and settings of a queue.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Rates, Setting, Settings, Stats, Totals};
use windlass_core::{Priority, QueueName, Result};

/// The stats of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::Stats`"
)]
pub struct QueueReply {
    pub queue: String,
    pub ready: u64,
    #[serde(default)]
    pub pending: u64,
    pub scheduled: u64,
    pub running: u64,
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    pub oldest_ms: Option<u64>,
    pub paused: bool,
    /// The time until the rest of a snoozed queue ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resting_ms: Option<u64>,
    /// Ready jobs by priority: ten numbers, priority 0 first.
    pub ready_by_priority: [u64; Priority::COUNT],
    pub bytes: u64,
    pub stale_entries: u64,
    #[serde(default)]
    pub schedules: u64,
    pub total: TotalReply,
    pub last_minute: RateReply,
    /// The time until the next scheduled job or instant is due, if the request has `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_ms: Option<u64>,
}

/// Counts since the queue was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::Totals`"
)]
pub struct TotalReply {
    pub enqueued: u64,
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    pub rescued: u64,
}

/// Counts in the last 60 seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::Rates`"
)]
pub struct RateReply {
    pub enqueued: u64,
    pub finished: u64,
}

impl QueueReply {
    /// Creates the reply for one queue.
    pub fn new(queue: &QueueName, stats: &Stats) -> Self {
        let total = stats.total;
        Self {
            queue: queue.to_string(),
            ready: stats.ready,
            pending: stats.pending,
            scheduled: stats.scheduled,
            running: stats.running,
            succeeded: stats.succeeded,
            dead: stats.dead,
            cancelled: stats.cancelled,
            oldest_ms: stats.oldest_ms,
            paused: stats.is_paused,
            resting_ms: stats.resting_ms,
            ready_by_priority: stats.ready_by_priority,
            bytes: stats.bytes,
            stale_entries: stats.stale_entries,
            schedules: stats.schedules,
            total: TotalReply {
                enqueued: total.enqueued,
                succeeded: total.succeeded,
                dead: total.dead,
                cancelled: total.cancelled,
                rescued: total.rescued,
            },
            last_minute: RateReply {
                enqueued: stats.last_minute.enqueued,
                finished: stats.last_minute.finished,
            },
            next_due_ms: None,
        }
    }

    /// Converts the reply back.
    pub fn into_stats(self) -> Stats {
        Stats {
            ready: self.ready,
            ready_by_priority: self.ready_by_priority,
            pending: self.pending,
            scheduled: self.scheduled,
            running: self.running,
            succeeded: self.succeeded,
            dead: self.dead,
            cancelled: self.cancelled,
            bytes: self.bytes,
            stale_entries: self.stale_entries,
            schedules: self.schedules,
            oldest_ms: self.oldest_ms,
            next_due_ms: self.next_due_ms,
            is_paused: self.paused,
            resting_ms: self.resting_ms,
            total: Totals {
                enqueued: self.total.enqueued,
                succeeded: self.total.succeeded,
                dead: self.total.dead,
                cancelled: self.total.cancelled,
                rescued: self.total.rescued,
            },
            last_minute: Rates {
                enqueued: self.last_minute.enqueued,
                finished: self.last_minute.finished,
            },
        }
    }
}

/// The settings of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsReply {
    /// The queue.
    pub queue: String,
    /// Every setting and its value as text.
    pub settings: BTreeMap<String, String>,
}

impl SettingsReply {
    /// Creates the reply for one queue.
    pub fn new(queue: &QueueName, settings: &Settings) -> Self {
        let pair = |setting: Setting| (setting.name().to_owned(), setting.value().to_owned());
        Self {
            queue: queue.to_string(),
            settings: settings.all().into_iter().map(pair).collect(),
        }
    }

    /// Converts the reply back. Settings that this version does not know are ignored.
    pub fn into_settings(self) -> Result<Settings> {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            if let Ok(setting) = Setting::new(name, value) {
                settings.apply(&setting)?;
            }
        }
        Ok(settings)
    }
}

/// Describes a setting in a few words.
pub fn describe_setting(name: &str) -> &'static str {
    match name {
        "dedup_for" => "how long caller-chosen ids stay reserved after their job ends",
        "dedup_max" => "maximum number of such ids",
        "requeue" => "where released and rescued jobs are added: front, back",
        "poison_after" => "number of expired leases in a row at which a job becomes dead",
        "keep_succeeded" => "which succeeded jobs to keep: with_result, all, nothing",
        "succeeded_age" => "how long to keep succeeded jobs",
        "succeeded_count" | "dead_count" | "cancelled_count" => "maximum number of them to keep",
        "succeeded_bytes" | "dead_bytes" | "cancelled_bytes" => {
            "maximum total size of them, in bytes"
        }
        "dead_age" => "how long to keep dead jobs",
        "cancelled_age" => "how long to keep cancelled jobs",
        "max_running" => "jobs that run at the same time",
        "rate" => "jobs handed out in any period, such as 100/1m",
        "burst" => "jobs that may start at once although the rate spreads them",
        "group_max_running" => "jobs of each group that run at the same time",
        "group_rate" => "jobs of each group handed out in any period",
        "group_burst" => "like burst, for the rate of each group",
        "group_slot" => "until when a job counts for its group: run, job, success",
        "partitions" => "number of partitions in Redis: 1 to 128, auto",
        "partition_at" => "waiting jobs in a partition above which auto adds partitions",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_described() {
        for setting in Settings::default().all() {
            assert_ne!(describe_setting(setting.name()), "", "{}", setting.name());
        }
    }
}
