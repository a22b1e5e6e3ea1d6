//! The JSON form of stats and settings of a queue.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::{Priority, QueueName, Settings, Stats};

/// The stats of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Stats`"
)]
pub struct QueueReply {
    pub queue: String,
    pub ready: u64,
    pub scheduled: u64,
    pub running: u64,
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    pub oldest_ms: Option<u64>,
    pub paused: bool,
    /// Ready jobs by priority: ten numbers, priority 0 first.
    pub ready_by_priority: [u64; Priority::COUNT],
    pub bytes: u64,
    pub stale_entries: u64,
    pub total: TotalReply,
    pub last_minute: RateReply,
}

/// Counts since the queue was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Totals`"
)]
pub struct TotalReply {
    pub enqueued: u64,
    pub succeeded: u64,
    pub dead: u64,
    pub cancelled: u64,
    pub rescued: u64,
}

/// Counts in the last full minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Rates`"
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
            scheduled: stats.scheduled,
            running: stats.running,
            succeeded: stats.succeeded,
            dead: stats.dead,
            cancelled: stats.cancelled,
            oldest_ms: stats.oldest_ms,
            paused: stats.is_paused,
            ready_by_priority: stats.ready_by_priority,
            bytes: stats.bytes,
            stale_entries: stats.stale_entries,
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
        }
    }
}

/// The settings of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingsReply {
    /// The queue.
    pub queue: String,
    /// Every setting and its value as text.
    pub settings: BTreeMap<&'static str, String>,
}

impl SettingsReply {
    /// Creates the reply for one queue.
    pub fn new(queue: &QueueName, settings: &Settings) -> Self {
        let pair = |setting: windlass_core::Setting| (setting.name(), setting.value().to_owned());
        Self {
            queue: queue.to_string(),
            settings: settings.all().into_iter().map(pair).collect(),
        }
    }
}
