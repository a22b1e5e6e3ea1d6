//! Who works: the record a worker keeps in the store, and what it is told when it beats.

use std::fmt;

use crate::name::{BootId, JobId, QueueName};
use crate::time::Timestamp;
use crate::words::words;

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

/// A worker as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// What it said when it started; queues it left are gone from it.
    pub new: NewWorker,
    /// Whether it runs jobs at the moment.
    pub is_busy: bool,
    /// The jobs it runs, as far as it said.
    pub running: Vec<(QueueName, JobId)>,
    /// What it will be told at its next beat.
    pub told: Told,
    /// When it registered.
    pub started_at: Timestamp,
    /// When it last beat.
    pub last_seen: Timestamp,
    /// It has not been heard of for a minute: its next beat will be told `lost`.
    pub is_silent: bool,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// Who.
    pub boot: BootId,
    /// The jobs it runs; none is idle.
    pub running: Vec<(QueueName, JobId)>,
}

words! {
    /// What a worker is told.
    Told {
        /// Go on.
        Continue = "continue",
        /// Claim no more, finish what is held.
        Quiet = "quiet",
        /// Finish and leave.
        Stop = "stop",
        /// Nobody knows you: register again under a new boot id.
        Lost = "lost",
    }
}
