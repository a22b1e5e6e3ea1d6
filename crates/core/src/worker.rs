//! Workers: registration, heartbeats and commands.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::limits::{LEASE_DEFAULT, WORKER_LATE_AFTER, WORKER_SILENCE_MAX};
use crate::name::{BootId, JobId, NAME_BYTES_MAX, QueueName};
use crate::text_enum::text_enum;
use crate::time::Timestamp;

/// A worker to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// The boot id, unique per start.
    pub boot: BootId,
    /// A display name. Several workers can share it.
    pub name: String,
    /// The host it runs on.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// The version of Windlass.
    pub version: String,
    /// The queues it claims from.
    pub queues: Vec<QueueName>,
}

impl NewWorker {
    /// Checks that the texts are short and printable, and the number of queues.
    pub fn check(&self) -> Result<()> {
        for (part, text) in [
            ("name", &self.name),
            ("host", &self.host),
            ("version", &self.version),
        ] {
            if text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) {
                let help = "use at most 128 bytes, without control characters";
                return Err(Error::invalid(
                    &format!("worker {part}"),
                    "too long, or contains control characters",
                    help,
                ));
            }
        }
        check_count("queues", self.queues.len())
    }
}

/// The maximum number of queues of a worker, and of running jobs in a heartbeat.
const LIST_MAX: usize = 10_000;

fn check_count(part: &str, count: usize) -> Result<()> {
    if count <= LIST_MAX {
        return Ok(());
    }
    let why = format!("{count} entries is too many; maximum {LIST_MAX}");
    Err(Error::invalid(
        &format!("list of {part} of a worker"),
        why,
        "list fewer",
    ))
}

/// The record of a worker in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRecord {
    /// The registration; queues that the worker left are removed.
    pub new: NewWorker,
    /// The running jobs, as of the last heartbeat.
    pub running: Vec<(QueueName, JobId)>,
    /// The command that the next heartbeat will return.
    pub command: WorkerCommand,
    /// When it registered.
    pub started_at: Timestamp,
    /// Time of its last heartbeat.
    pub last_seen: Timestamp,
    /// Time since its last heartbeat, by the clock of the store.
    pub silent_for: Duration,
}

impl WorkerRecord {
    /// Returns whether it sent no heartbeat for a minute: the next one will return `reregister`.
    pub fn is_silent(&self) -> bool {
        self.silent_for >= WORKER_SILENCE_MAX
    }

    /// Returns what the worker is doing. Silence counts more than what it last reported.
    pub fn state(&self) -> WorkerState {
        match self.command {
            _ if self.silent_for >= LEASE_DEFAULT => WorkerState::Lost,
            _ if self.silent_for >= WORKER_LATE_AFTER => WorkerState::Late,
            WorkerCommand::Stop => WorkerState::Draining,
            WorkerCommand::Pause => WorkerState::Paused,
            _ if self.running.is_empty() => WorkerState::Idle,
            _ => WorkerState::Busy,
        }
    }
}

text_enum! {
    /// What a worker is doing.
    WorkerState {
        /// Waiting for jobs.
        Idle = "idle",
        /// Running jobs.
        Busy = "busy",
        /// Claiming no more jobs, by command.
        Paused = "paused",
        /// Finishing its jobs, then it exits.
        Draining = "draining",
        /// It missed three heartbeats.
        Late = "late",
        /// No heartbeat for as long as a lease (default: 30s): other workers get its jobs.
        Lost = "lost",
    }
}

/// A heartbeat of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// The boot id of the worker.
    pub boot: BootId,
    /// The running jobs. Empty if the worker is idle.
    pub running: Vec<(QueueName, JobId)>,
}

impl Heartbeat {
    /// Checks the number of running jobs.
    pub fn check(&self) -> Result<()> {
        check_count("jobs", self.running.len())
    }
}

text_enum! {
    /// A command for a worker, delivered with the reply to its heartbeat.
    WorkerCommand {
        /// Keep working.
        Continue = "continue",
        /// Claim no more jobs, but finish the running ones.
        Pause = "pause",
        /// Finish the running jobs and exit.
        Stop = "stop",
        /// The store does not know the worker: register again with a new boot id.
        Reregister = "reregister",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_worker_is_late_then_lost_whatever_it_reported() {
        use WorkerCommand::{Continue, Pause, Stop};
        let state = |command, seconds, running: &[&str]| {
            let queue = QueueName::new("mail").unwrap();
            let job = |id: &&str| (queue.clone(), JobId::new(id).unwrap());
            let worker = WorkerRecord {
                new: NewWorker {
                    boot: BootId::new("w-1").unwrap(),
                    name: String::new(),
                    host: String::new(),
                    pid: 1,
                    version: String::new(),
                    queues: Vec::new(),
                },
                running: running.iter().map(job).collect(),
                command,
                started_at: Timestamp::default(),
                last_seen: Timestamp::default(),
                silent_for: Duration::from_secs(seconds),
            };
            worker.state().as_str()
        };
        assert_eq!(state(Continue, 0, &[]), "idle");
        assert_eq!(state(Continue, 7, &["a"]), "busy");
        assert_eq!(state(Pause, 0, &["a"]), "paused");
        assert_eq!(state(Stop, 0, &["a"]), "draining");
        assert_eq!(state(Continue, 8, &["a"]), "late");
        assert_eq!(state(Stop, 29, &[]), "late");
        assert_eq!(state(Continue, 30, &["a"]), "lost");
    }
}
