//! Which finished jobs are kept, and how long.

use std::fmt;
use std::time::Duration;

use crate::text_enum::text_enum;

/// How long finished jobs of one state are kept. Each limit applies; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// The maximum time since the job finished.
    pub age: Option<Duration>,
    /// The maximum number of jobs.
    pub count: Option<u64>,
    /// The maximum total size of payloads, results and errors, in bytes.
    pub bytes: Option<u64>,
}

impl Keep {
    /// Returns whether finished jobs of this number and size exceed a limit.
    pub fn is_exceeded(&self, count: u64, bytes: u64) -> bool {
        self.count.is_some_and(|max| count > max) || self.bytes.is_some_and(|max| bytes > max)
    }
}

text_enum! {
    /// Which succeeded jobs are kept.
    KeepSucceeded {
        /// Jobs with a result, and jobs enqueued with `keep_outcome`.
        WithResult = "with_result",
        /// All jobs.
        All = "all",
        /// No jobs.
        Nothing = "nothing",
    }
}

impl KeepSucceeded {
    /// Returns whether a succeeded job is kept.
    pub const fn keeps(self, has_result: bool, keep_outcome: bool) -> bool {
        match self {
            Self::WithResult => has_result || keep_outcome,
            Self::All => true,
            Self::Nothing => false,
        }
    }
}
