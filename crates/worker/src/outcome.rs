//! What a handler returns.

use std::time::Duration;

use bytes::Bytes;
use windlass_core::Due;
use windlass_core::store::SnoozeScope;

/// How an attempt ended, as returned by its handler. Hooks see it and may replace it.
///
/// ```
/// # use windlass_worker as windlass;
/// use windlass::{Outcome, RetryWhen};
///
/// let outcome = Outcome::permanent("no such address");
/// assert_eq!(outcome.as_str(), "failed");
/// assert!(matches!(outcome, Outcome::Failed { retry: RetryWhen::Never, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job succeeded, with an optional result.
    Done(Option<Bytes>),
    /// The attempt failed.
    Failed {
        /// The error message.
        error: String,
        /// When to retry.
        retry: RetryWhen,
    },
    /// Run the job again at this time; the attempt does not count.
    Snooze {
        /// When to run it again.
        due: Due,
        /// What is postponed: the job, its group or its queue.
        scope: SnoozeScope,
    },
    /// Return the job to the front of its queue; the attempt does not count.
    Release,
}

/// When a failed job is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryWhen {
    /// According to the job's retry policy.
    ByPolicy,
    /// At this time, unless the attempts are exhausted.
    At(Due),
    /// Never: the job becomes dead.
    Never,
}

impl Outcome {
    /// The job succeeded without a result.
    pub const fn done() -> Self {
        Self::Done(None)
    }

    /// The attempt failed; the job's retry policy decides what happens next.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            retry: RetryWhen::ByPolicy,
        }
    }

    /// The attempt failed, and retrying cannot help.
    pub fn permanent(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            retry: RetryWhen::Never,
        }
    }

    /// Run the job again after `delay`; the attempt does not count.
    pub const fn snooze(delay: Duration) -> Self {
        Self::Snooze {
            due: Due::After(delay),
            scope: SnoozeScope::Job,
        }
    }

    /// Run no job of the group until `due`; the attempt does not count. A job without a group is postponed
    /// alone.
    pub const fn snooze_group(due: Due) -> Self {
        let scope = SnoozeScope::Group;
        Self::Snooze { due, scope }
    }

    /// Run no job of the queue until `due`; the attempt does not count.
    pub const fn snooze_queue(due: Due) -> Self {
        let scope = SnoozeScope::Queue;
        Self::Snooze { due, scope }
    }

    /// Returns the outcome's name, for metrics and log lines.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::Snooze { .. } => "snoozed",
            Self::Release => "released",
        }
    }
}
