//! Workers: registration, heartbeats and commands.

use std::fmt;

use crate::error::{Error, Result};
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
    /// Whether it is running jobs.
    pub is_busy: bool,
    /// The running jobs, as of the last heartbeat.
    pub running: Vec<(QueueName, JobId)>,
    /// The command that the next heartbeat will return.
    pub command: WorkerCommand,
    /// When it registered.
    pub started_at: Timestamp,
    /// Time of its last heartbeat.
    pub last_seen: Timestamp,
    /// No heartbeat for a minute: the next one will return `reregister`.
    pub is_silent: bool,
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
