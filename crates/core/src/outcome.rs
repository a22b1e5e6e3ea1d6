//! Outcomes of an attempt: complete, fail, release, snooze.

use bytes::Bytes;

use crate::claim::Claim;
use crate::due::Due;
use crate::error::Result;
use crate::group::SnoozeScope;
use crate::limits::Limits;
use crate::name::JobId;
use crate::retry::{Jitter, Retry};
use crate::text_enum::text_enum;
use crate::token::Token;
use std::fmt;

/// The lease on one claimed job: its id and the token of the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobLease {
    /// The job.
    pub id: JobId,
    /// The token of the claim.
    pub token: Token,
}

impl JobLease {
    /// Creates the lease on job `id` with `token`.
    pub fn new(id: JobId, token: Token) -> Self {
        Self { id, token }
    }

    /// Completes the job without a result.
    pub fn completion(self) -> Completion {
        Completion {
            lease: self,
            result: None,
        }
    }

    /// Fails the attempt. The job's [`RetryPolicy`](crate::RetryPolicy) decides whether it is retried.
    pub fn failure(self, error: impl Into<String>) -> Failure {
        Failure {
            lease: self,
            error: error.into(),
            retry: Retry::ByPolicy(Jitter::random()),
        }
    }

    /// Postpones the job until `due`, without counting the attempt.
    pub fn snooze(self, due: Due) -> Snooze {
        Snooze {
            lease: self,
            due,
            scope: SnoozeScope::Job,
        }
    }
}

/// Reports that a job succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The lease on the job.
    pub lease: JobLease,
    /// The result. By default, a job without a result is not kept.
    pub result: Option<Bytes>,
}

impl Completion {
    /// Sets the result.
    #[must_use]
    pub fn result(mut self, result: impl Into<Bytes>) -> Self {
        self.result = Some(result.into());
        self
    }

    /// Checks the size of the result.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        limits.check_bytes("result", self.result.as_ref().map_or(0, Bytes::len))
    }
}

/// Reports that an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The lease on the job.
    pub lease: JobLease,
    /// The error message.
    pub error: String,
    /// When to retry.
    pub retry: Retry,
}

impl Failure {
    /// Sets when to retry.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Checks that the time is not too far in the future.
    pub fn check(&self) -> Result<()> {
        match self.retry {
            Retry::At(due) => due.check("retry time"),
            Retry::ByPolicy(_) | Retry::Permanent => Ok(()),
        }
    }
}

/// Postpones a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snooze {
    /// The lease on the job.
    pub lease: JobLease,
    /// When the job is due again.
    pub due: Due,
    /// What is postponed.
    pub scope: SnoozeScope,
}

impl Snooze {
    /// Sets what is postponed (default: the job).
    #[must_use]
    pub fn scope(mut self, scope: SnoozeScope) -> Self {
        self.scope = scope;
        self
    }

    /// Checks that the time is not too far in the future.
    pub fn check(&self) -> Result<()> {
        self.due.check("due time")
    }
}

text_enum! {
    /// The reply to one outcome. The first six are final for the claim: a repeated call with the
    /// same token gets the same reply.
    OutcomeStatus {
        /// The job succeeded. Returned to exactly one lease holder.
        Completed = "completed",
        /// The attempt failed, and the job will be retried.
        Retrying = "scheduled",
        /// The attempt failed, and the job is dead.
        Dead = "dead",
        /// The job is back in the queue. The attempt is not counted.
        Released = "released",
        /// The job, its group or its queue is postponed. The attempt is not counted.
        Snoozed = "snoozed",
        /// A cancellation had been requested, and the job is now cancelled.
        Cancelled = "cancelled",
        /// The token is not valid for the job. Nothing changed.
        LeaseLost = "lease_lost",
        /// The job is no longer stored. Nothing changed.
        Gone = "gone",
    }
}

/// Whether a lease is still valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseStatus {
    /// The lease is valid, and the call was executed.
    Valid,
    /// The lease is lost. Nothing changed.
    Lost,
}

/// The reply to [`Store::complete`](crate::Store::complete).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// One status per completion, in the same order: `Completed`, `LeaseLost` or `Gone`.
    pub statuses: Vec<OutcomeStatus>,
    /// The jobs claimed in the same transaction, if requested.
    pub next: Option<Claim>,
}
