//! How a conversation over pipes ended, and what happened to claimed jobs whose reply was not delivered.

use std::io;

use windlass_core::{JobId, OutcomeStatus, Store};

use crate::undelivered::Undelivered;

/// Why a session ended.
#[derive(Debug)]
pub enum Cause {
    /// End of input.
    InputEnded,
    /// The stop token was cancelled.
    Stopped,
    /// The reader closed the output.
    OutputClosed,
    /// Writing the output failed.
    OutputFailed(io::Error),
    /// Reading the input failed.
    InputFailed(io::Error),
}

impl Cause {
    /// Returns the cause for an error of the output.
    pub fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::OutputFailed(error),
        }
    }
}

/// How a session ended.
#[derive(Debug)]
pub struct SessionEnd {
    /// Why the session ended.
    pub cause: Cause,
    /// How many requests got a reply.
    pub replies: u64,
    /// How many of the replies were errors.
    pub errors: u64,
    /// Jobs that were claimed but whose reply could not be written.
    pub undelivered: Vec<UndeliveredJob>,
}

/// What happened to a claimed job whose reply could not be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndeliveredJob {
    /// It is back at the front of its queue.
    Released(JobId),
    /// It was claimed at most once, so it is lost.
    Lost(JobId),
    /// The release failed: the job becomes ready when its lease expires.
    Leased(JobId),
}

/// Releases the jobs of all claims, newest claim first, so that they keep their order.
pub async fn release_all(store: &dyn Store, claims: Vec<Undelivered>) -> Vec<UndeliveredJob> {
    let mut undelivered = Vec::new();
    for claim in claims.into_iter().rev() {
        let statuses = claim.release(store).await;
        for (at, lease) in claim.leases.into_iter().enumerate() {
            undelivered.push(match &statuses {
                Err(_) => UndeliveredJob::Leased(lease.id),
                Ok(statuses) if statuses.get(at) == Some(&OutcomeStatus::Gone) => {
                    UndeliveredJob::Lost(lease.id)
                }
                Ok(_) => UndeliveredJob::Released(lease.id),
            });
        }
    }
    undelivered
}
