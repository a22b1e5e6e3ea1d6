//! The reply to an enqueue, and how durable a job is.

use std::fmt;

use crate::job::JobState;
use crate::name::JobId;

/// How durable an accepted job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DurabilityLevel {
    /// In the memory of the store.
    Memory,
    /// In memory, and on this many replicas.
    Replicated(u32),
    /// On disk.
    Synced,
}

impl fmt::Display for DurabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Replicated(count) => write!(f, "replicated:{count}"),
            Self::Synced => f.write_str("synced"),
        }
    }
}

/// The reply to [`Store::enqueue`](crate::Store::enqueue) for one job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enqueued {
    /// The job was stored.
    Accepted {
        /// The id.
        id: JobId,
        /// The state: ready or scheduled.
        state: JobState,
        /// The durability of the job.
        level: DurabilityLevel,
    },
    /// The id or unique key is already in use, or the id is still remembered.
    Duplicate {
        /// The id of the existing job.
        id: JobId,
        /// The state of the existing job.
        state: JobState,
        /// The current durability of the existing job.
        level: DurabilityLevel,
    },
    /// The content of a waiting job was replaced, and maybe its due time moved.
    Replaced {
        /// The id of that job.
        id: JobId,
        /// Its state afterwards.
        state: JobState,
        /// Its durability.
        level: DurabilityLevel,
    },
    /// The due time of a waiting job was moved.
    Postponed {
        /// The id of that job.
        id: JobId,
        /// Its state afterwards.
        state: JobState,
        /// Its durability.
        level: DurabilityLevel,
    },
}

impl Enqueued {
    /// Returns the id of the accepted or existing job.
    pub fn id(&self) -> &JobId {
        match self {
            Self::Accepted { id, .. }
            | Self::Duplicate { id, .. }
            | Self::Replaced { id, .. }
            | Self::Postponed { id, .. } => id,
        }
    }

    /// Returns the state of the accepted or existing job.
    pub const fn state(&self) -> JobState {
        match self {
            Self::Accepted { state, .. }
            | Self::Duplicate { state, .. }
            | Self::Replaced { state, .. }
            | Self::Postponed { state, .. } => *state,
        }
    }

    /// Returns the durability of the accepted or existing job.
    pub const fn level(&self) -> DurabilityLevel {
        match self {
            Self::Accepted { level, .. }
            | Self::Duplicate { level, .. }
            | Self::Replaced { level, .. }
            | Self::Postponed { level, .. } => *level,
        }
    }

    /// Returns the durability of the accepted or existing job, to change it.
    pub const fn level_mut(&mut self) -> &mut DurabilityLevel {
        match self {
            Self::Accepted { level, .. }
            | Self::Duplicate { level, .. }
            | Self::Replaced { level, .. }
            | Self::Postponed { level, .. } => level,
        }
    }

    /// Returns whether the job was stored as a new one.
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }

    /// Returns whether the content of an existing job was replaced.
    pub const fn is_replaced(&self) -> bool {
        matches!(self, Self::Replaced { .. })
    }

    /// Returns whether the due time of an existing job was moved, and nothing else.
    pub const fn is_postponed(&self) -> bool {
        matches!(self, Self::Postponed { .. })
    }

    /// Returns whether the job is a duplicate, and changed nothing.
    pub const fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }
}
