//! What a handler says when it returns.

use std::time::Duration;

use bytes::Bytes;
use windlass_core::Due;

/// How an attempt ended, as its handler says it. Hooks see it, and may answer another.
///
/// ```
/// # use windlass_worker as windlass;
/// use windlass::{Again, Outcome};
///
/// let outcome = Outcome::permanent("no such address");
/// assert_eq!(outcome.word(), "failed");
/// assert!(matches!(outcome, Outcome::Failed { again: Again::Never, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The job is done; what it leaves behind, if anything.
    Done(Option<Bytes>),
    /// The attempt failed: what went wrong, and what comes next.
    Failed {
        /// For people.
        error: String,
        /// When to try again.
        again: Again,
    },
    /// Not now: again at this time, attempt not counted.
    Snooze(Due),
    /// Somebody else should do it: back to the front, attempt not counted.
    Release,
}

/// When a failed job is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Again {
    /// As the job's retry policy says.
    ByPolicy,
    /// At this time; attempts still run out.
    At(Due),
    /// Never: the job is dead.
    Never,
}

impl Outcome {
    /// Done, with nothing to leave behind.
    pub const fn done() -> Self {
        Self::Done(None)
    }

    /// Failed; the job's policy says what comes next.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            again: Again::ByPolicy,
        }
    }

    /// Failed, and trying again is useless.
    pub fn permanent(error: impl Into<String>) -> Self {
        Self::Failed {
            error: error.into(),
            again: Again::Never,
        }
    }

    /// Put off for a while, attempt not counted.
    pub const fn snooze(delay: Duration) -> Self {
        Self::Snooze(Due::After(delay))
    }

    /// A word for figures and log lines.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::Snooze(_) => "snoozed",
            Self::Release => "released",
        }
    }
}
