//! Replies to claims, outcomes and renewals.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimedJob, JobId, JobLease, OutcomeStatus, QueueName, Renewed, Timestamp, Token,
};

use crate::content::Content;
use crate::job::header_map;
use crate::timestamp;

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::ClaimedJob`"
)]
pub struct ClaimReply {
    pub id: String,
    pub queue: String,
    /// The token, required by every request about this job.
    pub token: String,
    pub attempt: u32,
    pub max_attempts: u32,
    pub expiries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    pub kind: Option<String>,
    pub priority: u8,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// When the lease expires unless renewed.
    pub lease_until: String,
    pub timeout_ms: Option<u64>,
    pub created_at: String,
    pub due_at: String,
}

impl ClaimReply {
    /// Returns all jobs of a claim in order; an empty list for no claim.
    pub fn all(queue: &QueueName, claim: Option<&Claim>) -> Vec<Self> {
        let one = |claim: &Claim, job: &ClaimedJob| Self::one(queue, claim, job);
        claim
            .into_iter()
            .flat_map(|claim| claim.jobs.iter().map(move |job| one(claim, job)))
            .collect()
    }

    /// Returns the lease of the job, if the id and the token are valid.
    pub fn lease(&self) -> Option<JobLease> {
        let id = JobId::new(&self.id).ok()?;
        Some(JobLease::new(id, self.token.parse().ok()?))
    }

    fn one(queue: &QueueName, claim: &Claim, job: &ClaimedJob) -> Self {
        let (payload, payload_base64) = Content::of(&job.payload).split();
        Self {
            id: job.id.to_string(),
            queue: queue.to_string(),
            token: claim.token.to_string(),
            attempt: job.attempt,
            max_attempts: job.retry.max_attempts,
            expiries: job.expiries,
            payload,
            payload_base64,
            kind: job.kind.as_ref().map(ToString::to_string),
            priority: job.priority.level(),
            headers: header_map(&job.headers),
            lease_until: timestamp::format(claim.until),
            timeout_ms: job.timeout.map(as_ms),
            created_at: timestamp::format(job.created_at),
            due_at: timestamp::format(job.due_at),
        }
    }
}

/// The reply for one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutcomeReply {
    /// The job id.
    pub id: String,
    /// The queue.
    pub queue: String,
    /// `completed`, `scheduled` (will be retried), `dead`, `released`, `snoozed`, `cancelled`, `lease_lost` or `gone`;
    /// `accepted` for accept, `recorded` for progress.
    pub outcome: &'static str,
}

impl OutcomeReply {
    /// Creates the reply for an outcome.
    pub fn from_status(queue: &QueueName, id: &JobId, status: OutcomeStatus) -> Self {
        Self::new(queue, id, status.as_str())
    }

    /// Creates a reply with any outcome text.
    pub fn new(queue: &QueueName, id: &JobId, outcome: &'static str) -> Self {
        Self {
            id: id.to_string(),
            queue: queue.to_string(),
            outcome,
        }
    }
}

/// The reply to a renewal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenewReply {
    /// The queue.
    pub queue: String,
    /// The token of the claim.
    pub token: String,
    /// The new end of the lease.
    pub lease_until: String,
    /// Jobs to stop, because their cancellation was requested.
    pub cancel: Vec<String>,
}

impl RenewReply {
    /// Creates the reply for one token, or `None` if it is no longer valid.
    pub fn new(queue: &QueueName, token: Token, renewed: &Renewed) -> Option<Self> {
        let until: Timestamp = renewed.until?;
        if renewed.lost.contains(&token) {
            return None;
        }
        Some(Self {
            queue: queue.to_string(),
            token: token.to_string(),
            lease_until: timestamp::format(until),
            cancel: renewed.cancel.iter().map(ToString::to_string).collect(),
        })
    }
}
