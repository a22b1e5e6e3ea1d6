//! The JSON form of a worker.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::time::as_ms;
use windlass_core::{BootId, JobId, QueueName, Result};

use crate::timestamp;
use crate::word::{self, Word};

/// A worker seen in the last 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::WorkerRecord`"
)]
pub struct WorkerReply {
    pub id: String,
    pub name: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub queues: Vec<String>,
    /// `idle`, `busy`, `paused`, `draining` (finishes its jobs, then exits), `late` (missed three heartbeats) or
    /// `lost` (no heartbeat for 30 seconds: its jobs return to their queues).
    #[serde(deserialize_with = "word::read")]
    pub state: Word,
    pub running: Vec<RunningReply>,
    /// The command that the next heartbeat will return.
    #[serde(deserialize_with = "word::read")]
    pub command: Word,
    pub started_at: String,
    pub last_seen_at: String,
    /// Time since the last heartbeat.
    pub last_seen_ms: u64,
}

/// A job that a worker is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunningReply {
    pub queue: String,
    pub id: String,
}

impl WorkerReply {
    /// Creates the reply for one worker.
    pub fn new(worker: &WorkerRecord) -> Self {
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
            state: worker.state().as_str(),
            running: worker.running.iter().map(running).collect(),
            command: worker.command.as_str(),
            started_at: timestamp::format(worker.started_at),
            last_seen_at: timestamp::format(worker.last_seen),
            last_seen_ms: as_ms(worker.silent_for),
        }
    }
}

impl WorkerReply {
    /// Converts the reply back.
    pub fn into_record(self) -> Result<WorkerRecord> {
        let running = |job: &RunningReply| Ok((QueueName::new(&job.queue)?, JobId::new(&job.id)?));
        let queues = self.queues.iter().map(QueueName::new);
        Ok(WorkerRecord {
            new: NewWorker {
                boot: BootId::new(&self.id)?,
                name: self.name,
                host: self.host,
                pid: self.pid,
                version: self.version,
                queues: queues.collect::<Result<_>>()?,
            },
            running: self.running.iter().map(running).collect::<Result<_>>()?,
            command: WorkerCommand::from_text(self.command).unwrap_or(WorkerCommand::Continue),
            started_at: timestamp::parse(&self.started_at)?,
            last_seen: timestamp::parse(&self.last_seen_at)?,
            silent_for: Duration::from_millis(self.last_seen_ms),
        })
    }
}
