//! The JSON form of a worker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::{BootId, JobId, QueueName, Result, Timestamp};

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
    /// `idle`, `busy`, or `silent` after a minute without heartbeat.
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
    /// Creates the reply for one worker at time `now`.
    pub fn new(worker: &WorkerRecord, now: Timestamp) -> Self {
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
            state: match (worker.is_silent, worker.is_busy) {
                (true, _) => "silent",
                (false, true) => "busy",
                (false, false) => "idle",
            },
            running: worker.running.iter().map(running).collect(),
            command: worker.command.as_str(),
            started_at: timestamp::format(worker.started_at),
            last_seen_at: timestamp::format(worker.last_seen),
            last_seen_ms: windlass_core::time::as_ms(now.since(worker.last_seen)),
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
            is_busy: !self.running.is_empty(),
            running: self.running.iter().map(running).collect::<Result<_>>()?,
            command: WorkerCommand::from_text(self.command).unwrap_or(WorkerCommand::Continue),
            started_at: timestamp::parse(&self.started_at)?,
            last_seen: timestamp::parse(&self.last_seen_at)?,
            is_silent: self.state == "silent",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(is_silent: bool, is_busy: bool) -> &'static str {
        let new = NewWorker {
            boot: BootId::new("w-1").unwrap(),
            name: "w".to_owned(),
            host: "here".to_owned(),
            pid: 1,
            version: String::new(),
            queues: Vec::new(),
        };
        let worker = WorkerRecord {
            new,
            is_busy,
            running: Vec::new(),
            command: WorkerCommand::Continue,
            started_at: Timestamp::default(),
            last_seen: Timestamp::default(),
            is_silent,
        };
        WorkerReply::new(&worker, Timestamp::default()).state
    }

    #[test]
    fn a_silent_worker_is_shown_as_silent_whatever_it_ran() {
        assert_eq!(state(true, true), "silent");
        assert_eq!(state(true, false), "silent");
        assert_eq!(state(false, true), "busy");
        assert_eq!(state(false, false), "idle");
    }
}
