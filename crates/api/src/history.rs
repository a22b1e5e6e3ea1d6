//! The JSON form of the history of a queue.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::Result;
use windlass_core::store::{Histogram, HistoryCounts, HistoryLevels, HistoryRow};
use windlass_core::time::as_ms;

use crate::timestamp;

/// What happened in a queue in one minute, and its jobs at the end of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryRowReply {
    /// The start of the minute.
    pub minute: String,
    /// Jobs enqueued in the minute.
    pub enqueued: u64,
    /// Jobs succeeded.
    pub succeeded: u64,
    /// Attempts failed.
    pub failed: u64,
    /// Jobs that became dead.
    pub dead: u64,
    /// Jobs cancelled.
    pub cancelled: u64,
    /// Jobs returned to the queue because their lease expired.
    pub rescued: u64,
    /// Ready jobs at the end of the minute, or now in the last row. So are the next three.
    pub ready: u64,
    /// Scheduled jobs.
    pub scheduled: u64,
    /// Running jobs.
    pub running: u64,
    /// Dead jobs that are kept.
    pub dead_jobs: u64,
    /// How long jobs had waited when they were claimed, one job per second: pairs of an upper bound in milliseconds
    /// and the number of jobs up to it.
    pub waits: Vec<[u64; 2]>,
    /// The bound of half of the waits; null without any.
    pub wait_p50_ms: Option<u64>,
    /// The bound of 99 % of the waits; null without any.
    pub wait_p99_ms: Option<u64>,
    /// The bound of all waits; null without any.
    pub wait_max_ms: Option<u64>,
}

impl From<&HistoryRow> for HistoryRowReply {
    fn from(row: &HistoryRow) -> Self {
        let (counts, levels, waits) = (row.counts, row.levels, &row.waits);
        let ms = |wait: Option<Duration>| wait.map(as_ms);
        Self {
            minute: timestamp::format(row.minute),
            enqueued: counts.enqueued,
            succeeded: counts.succeeded,
            failed: counts.failed,
            dead: counts.dead,
            cancelled: counts.cancelled,
            rescued: counts.rescued,
            ready: levels.ready,
            scheduled: levels.scheduled,
            running: levels.running,
            dead_jobs: levels.dead,
            waits: waits.buckets().map(<[u64; 2]>::from).collect(),
            wait_p50_ms: ms(waits.percentile(50)),
            wait_p99_ms: ms(waits.percentile(99)),
            wait_max_ms: ms(waits.max()),
        }
    }
}

impl HistoryRowReply {
    /// Converts the reply back to the row.
    pub fn into_row(self) -> Result<HistoryRow> {
        Ok(HistoryRow {
            minute: timestamp::parse(&self.minute)?,
            counts: HistoryCounts {
                enqueued: self.enqueued,
                succeeded: self.succeeded,
                failed: self.failed,
                dead: self.dead,
                cancelled: self.cancelled,
                rescued: self.rescued,
            },
            levels: HistoryLevels {
                ready: self.ready,
                scheduled: self.scheduled,
                running: self.running,
                dead: self.dead_jobs,
            },
            waits: Histogram::from_buckets(self.waits.into_iter().map(<(u64, u64)>::from)),
        })
    }
}
