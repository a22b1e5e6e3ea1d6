//! Who works: the record a worker keeps in the store, and what it is told when it beats.

use std::fmt;

use crate::error::{Error, Result};
use crate::name::{BootId, JobId, NAME_BYTES_MAX, QueueName};
use crate::text_enum::text_enum;
use crate::time::Timestamp;

/// A worker that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// This life of the worker.
    pub boot: BootId,
    /// What people call it; may be shared by many.
    pub name: String,
    /// The machine it runs on.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// The version of Windlass it runs.
    pub version: String,
    /// The queues it takes jobs from.
    pub queues: Vec<QueueName>,
}

impl NewWorker {
    /// Checks that what it says of itself is short and printable.
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

/// The most queues of one worker, and the most jobs it says it runs.
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

/// A worker as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRecord {
    /// What it said when it started; queues it left are gone from it.
    pub new: NewWorker,
    /// Whether it runs jobs at the moment.
    pub is_busy: bool,
    /// The jobs it runs, as far as it said.
    pub running: Vec<(QueueName, JobId)>,
    /// The command that its next heartbeat will return.
    pub command: WorkerCommand,
    /// When it registered.
    pub started_at: Timestamp,
    /// Time of its last heartbeat.
    pub last_seen: Timestamp,
    /// No heartbeat for a minute: the next one will return `reregister`.
    pub is_silent: bool,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who.
    pub boot: BootId,
    /// The jobs it runs; none is idle.
    pub running: Vec<(QueueName, JobId)>,
}

impl Heartbeat {
    /// Checks that it names a bounded number of jobs.
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
