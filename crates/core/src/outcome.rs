//! How a held job leaves its claim: complete, fail, release, snooze.

use bytes::Bytes;

use crate::claim::Claim;
use crate::due::Due;
use crate::error::Result;
use crate::limits::Limits;
use crate::name::JobId;
use crate::retry::{Jitter, Retry};
use crate::text_enum::text_enum;
use crate::token::Token;
use std::fmt;

/// A job and the token that shows it is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLease {
    /// The job.
    pub id: JobId,
    /// The claim that handed it out.
    pub token: Token,
}

impl JobLease {
    /// The hold of `token` on job `id`.
    pub fn new(id: JobId, token: Token) -> Self {
        Self { id, token }
    }

    /// Done, with no result to keep.
    pub fn completion(self) -> Completion {
        Completion {
            lease: self,
            result: None,
        }
    }

    /// Failed; the job's policy says what comes next.
    pub fn failure(self, error: impl Into<String>) -> Failure {
        Failure {
            lease: self,
            error: error.into(),
            retry: Retry::ByPolicy(Jitter::random()),
        }
    }

    /// Not now: again at `due`, attempt not counted.
    pub fn snooze(self, due: Due) -> Snooze {
        Snooze { lease: self, due }
    }
}

/// A job that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The job and its token.
    pub lease: JobLease,
    /// What it leaves behind; a job without a result is not kept.
    pub result: Option<Bytes>,
}

impl Completion {
    /// Leaves a result behind.
    #[must_use]
    pub fn result(mut self, result: impl Into<Bytes>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// Checks that the result is not too large.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_bytes("result", self.result.as_ref().map_or(0, Bytes::len))
    }
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The job and its token.
    pub lease: JobLease,
    /// What went wrong, for people.
    pub error: String,
    /// When to try again.
    pub retry: Retry,
}

impl Failure {
    /// Chooses when to try again.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Checks that the time chosen is one that will come.
    pub fn check(&self) -> Result<()> {
        match self.retry {
            Retry::At(due) => due.check("retry time"),
            Retry::ByPolicy(_) | Retry::Permanent => Ok(()),
        }
    }
}

/// A job put off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snooze {
    /// The job and its token.
    pub lease: JobLease,
    /// Until when.
    pub due: Due,
}

impl Snooze {
    /// Checks that the time chosen is one that will come.
    pub fn check(&self) -> Result<()> {
        self.due.check("due time")
    }
}

text_enum! {
    /// How one job answered. The first six say how it left its claim: a repeated call with the
    /// same token is told the same again.
    OutcomeStatus {
        /// Done; told to exactly one holder.
        Completed = "completed",
        /// Failed, and will be tried again.
        Retrying = "scheduled",
        /// Failed for good.
        Dead = "dead",
        /// Back at the front, attempt not counted.
        Released = "released",
        /// Put off, attempt not counted.
        Snoozed = "snoozed",
        /// It had been asked to stop, and has.
        Cancelled = "cancelled",
        /// The token does not hold the job; nothing changed.
        LeaseLost = "lease_lost",
        /// The job is not stored any more; nothing changed.
        Gone = "gone",
    }
}

/// Whether a token still holds a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// It does, and the call was carried out.
    Valid,
    /// It does not; nothing changed.
    Lost,
}

/// What `complete` answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// One answer per completion, in their order: completed, lost or gone.
    pub statuses: Vec<OutcomeStatus>,
    /// The next jobs, where they were asked for in the same step.
    pub next: Option<Claim>,
}
