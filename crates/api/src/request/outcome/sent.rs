//! Outcomes as a client of a served store sends them.

use std::time::Duration;

use windlass_core::limits::truncate_message;
use windlass_core::store::{Completion, Failure, Jitter, Retry, Snooze, SnoozeScope};
use windlass_core::{Due, JobLease};

use super::{CompletedJob, FailedJob, LeasedJob, SnoozedJob};
use crate::content;
use crate::enqueue::due_fields;

impl From<Completion> for CompletedJob {
    fn from(completion: Completion) -> Self {
        let result = completion.result.as_deref().map(content::encode);
        let (result, result_base64) = result.unwrap_or_default();
        Self {
            id: completion.lease.id.to_string(),
            token: completion.lease.token.to_string(),
            result,
            result_base64,
            result_bytes: None,
        }
    }
}

impl From<Failure> for FailedJob {
    fn from(failure: Failure) -> Self {
        let (mut permanent, mut jitter, mut due) = (None, None, (None, None));
        match failure.retry {
            Retry::ByPolicy(Jitter(random)) => jitter = Some(random),
            Retry::Permanent => permanent = Some(true),
            Retry::At(Due::Now) => due = due_fields(Due::After(Duration::ZERO)),
            Retry::At(at) => due = due_fields(at),
        }
        Self {
            id: failure.lease.id.to_string(),
            token: failure.lease.token.to_string(),
            error: truncate_message(&failure.error).to_owned(),
            permanent,
            delay: due.0,
            at: due.1,
            jitter,
        }
    }
}

impl From<JobLease> for LeasedJob {
    fn from(lease: JobLease) -> Self {
        Self {
            id: lease.id.to_string(),
            token: lease.token.to_string(),
        }
    }
}

impl From<Snooze> for SnoozedJob {
    fn from(snooze: Snooze) -> Self {
        let (delay, at) = match snooze.due {
            Due::Now => due_fields(Due::After(Duration::ZERO)),
            due => due_fields(due),
        };
        Self {
            id: snooze.lease.id.to_string(),
            token: snooze.lease.token.to_string(),
            delay,
            at,
            scope: Some(snooze.scope)
                .filter(|scope| *scope != SnoozeScope::Job)
                .map(|scope| scope.to_string()),
        }
    }
}
