//! Workers as doors show them.

use serde::Serialize;
use windlass_core::{JobId, QueueName, Timestamp, Worker};

use crate::moment;

/// A worker that was seen lately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::Worker`"
)]
pub struct WorkerReply {
    pub id: String,
    pub name: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub queues: Vec<String>,
    /// `idle` or `busy`.
    pub state: &'static str,
    pub running: Vec<RunningReply>,
    /// What it will be told at its next beat.
    pub told: &'static str,
    pub started_at: String,
    pub last_seen_at: String,
    /// How long ago that was.
    pub last_seen_ms: u64,
}

/// A job a worker runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunningReply {
    pub queue: String,
    pub id: String,
}

impl WorkerReply {
    /// One worker, seen from the moment `now`.
    pub fn new(worker: &Worker, now: Timestamp) -> Self {
        let new = &worker.new;
        let running = |(queue, id): &(QueueName, JobId)| RunningReply {
            queue: queue.to_string(),
            id: id.to_string(),
        };
        Self {
            id: new.boot.to_string(),
            name: new.name.clone(),
            host: new.host.clone(),
            pid: new.pid,
            version: new.version.clone(),
            queues: new.queues.iter().map(ToString::to_string).collect(),
            state: if worker.is_busy { "busy" } else { "idle" },
            running: worker.running.iter().map(running).collect(),
            told: worker.told.as_str(),
            started_at: moment::show(worker.started_at),
            last_seen_at: moment::show(worker.last_seen),
            last_seen_ms: windlass_core::time::as_ms(now.since(worker.last_seen)),
        }
    }
}
