//! The JSON form of a worker.

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::{JobId, QueueName, Timestamp, WorkerRecord};

use crate::timestamp;

/// A worker seen in the last 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::WorkerRecord`"
)]
pub struct WorkerReply {
    pub id: String,
    pub name: String,
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub queues: Vec<String>,
    /// `idle`, `busy`, or `silent` after a minute without heartbeat.
    pub state: &'static str,
    pub running: Vec<RunningReply>,
    /// The command that the next heartbeat will return.
    pub command: &'static str,
    pub started_at: String,
    pub last_seen_at: String,
    /// Time since the last heartbeat.
    pub last_seen_ms: u64,
}

/// A job that a worker is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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

#[cfg(test)]
mod tests {
    use windlass_core::{BootId, NewWorker, WorkerCommand};

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
