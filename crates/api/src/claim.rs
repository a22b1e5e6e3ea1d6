//! Replies to claims, outcomes and renewals.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{ClaimedJob, Claimer, GroupName, Kind, Renewed};
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, Error, JobId, JobLease, OutcomeStatus, Priority, QueueName, Result, RetryPolicy,
    Timestamp, Token,
};

use crate::content::{self, Content};
use crate::job::{header_map, headers};
use crate::retry::RetryDelays;
use crate::timestamp;
use crate::word::{self, Word};

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "the fields are those of `windlass_core::store::ClaimedJob`"
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// When the lease expires unless renewed.
    pub lease_until: String,
    pub timeout_ms: Option<u64>,
    pub created_at: String,
    pub due_at: String,
    /// The number of the claim, if the request has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The delays between attempts, if the request has `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryDelays>,
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

    /// Returns all jobs of a claim in order, with the number of the claim, and with `full` their retry
    /// delays.
    pub(crate) fn detailed(
        queue: &QueueName,
        claim: Option<&Claim>,
        claimer: &Claimer,
        is_full: bool,
    ) -> Vec<Self> {
        let mut replies = Self::all(queue, claim);
        let jobs = claim.iter().flat_map(|claim| &claim.jobs);
        for (reply, job) in replies.iter_mut().zip(jobs) {
            reply.seq = matches!(claimer, Claimer::Worker { .. }).then(|| claimer.seq());
            reply.retry = is_full.then(|| RetryDelays::from(&job.retry));
        }
        replies
    }

    /// Converts the replies to one claim back, with its number. No job is no claim.
    pub fn into_claim(replies: Vec<Self>) -> Result<Option<(Claim, Option<u64>)>> {
        let Some(first) = replies.first() else {
            return Ok(None);
        };
        let (token, seq) = (first.token.parse()?, first.seq);
        let until = timestamp::parse(&first.lease_until)?;
        let jobs = replies.into_iter().map(Self::into_job);
        let jobs = jobs.collect::<Result<_>>()?;
        Ok(Some((Claim { token, until, jobs }, seq)))
    }

    fn into_job(self) -> Result<ClaimedJob> {
        let mut retry = RetryPolicy::default().max_attempts(self.max_attempts);
        if let Some(delays) = &self.retry {
            delays.apply(&mut retry)?;
        }
        let payload = content::join(self.payload, self.payload_base64.as_deref())?;
        Ok(ClaimedJob {
            id: JobId::new(&self.id)?,
            kind: self.kind.map(Kind::new).transpose()?,
            payload: payload.unwrap_or_default(),
            headers: headers(&self.headers)?,
            priority: Priority::new(self.priority)?,
            group: self.group.map(GroupName::new).transpose()?,
            attempt: self.attempt,
            expiries: self.expiries,
            retry,
            timeout: self.timeout_ms.map(Duration::from_millis),
            created_at: timestamp::parse(&self.created_at)?,
            due_at: timestamp::parse(&self.due_at)?,
        })
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
            group: job.group.as_ref().map(ToString::to_string),
            headers: header_map(&job.headers),
            lease_until: timestamp::format(claim.until),
            timeout_ms: job.timeout.map(as_ms),
            created_at: timestamp::format(job.created_at),
            due_at: timestamp::format(job.due_at),
            seq: None,
            retry: None,
        }
    }
}

/// The reply for one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeReply {
    /// The job id.
    pub id: String,
    /// The queue.
    pub queue: String,
    /// `completed`, `scheduled` (will be retried), `dead`, `released`, `snoozed`, `cancelled`, `lease_lost` or `gone`;
    /// `accepted` for accept, `recorded` for progress.
    #[serde(deserialize_with = "word::read")]
    pub outcome: Word,
}

impl OutcomeReply {
    /// Creates the reply for an outcome.
    pub fn from_status(queue: &QueueName, id: &JobId, status: OutcomeStatus) -> Self {
        Self::new(queue, id, status.as_str())
    }

    /// Converts the reply back.
    pub fn status(&self) -> Result<OutcomeStatus> {
        let names: Vec<_> = OutcomeStatus::ALL.iter().map(|it| it.as_str()).collect();
        let status = OutcomeStatus::from_text(self.outcome);
        status.ok_or_else(|| Error::unknown("outcome", self.outcome, &names))
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// The reply to a renewal of several tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeasesReply {
    /// The new end of the lease; null if there is no lease.
    pub lease_until: Option<String>,
    /// Tokens that are no longer valid. Stop their jobs.
    pub lost: Vec<String>,
    /// Tokens that were neither renewed nor found lost; null if the whole queue was reached.
    pub unreached: Option<Vec<String>>,
    /// Jobs to stop, because their cancellation was requested.
    pub cancel: Vec<String>,
}

impl From<&Renewed> for LeasesReply {
    fn from(renewed: &Renewed) -> Self {
        let texts = |tokens: &Vec<Token>| tokens.iter().map(ToString::to_string).collect();
        Self {
            lease_until: renewed.until.map(timestamp::format),
            lost: texts(&renewed.lost),
            unreached: renewed.unreached.as_ref().map(texts),
            cancel: renewed.cancel.iter().map(ToString::to_string).collect(),
        }
    }
}

impl LeasesReply {
    /// Converts the reply back.
    pub fn into_renewed(self) -> Result<Renewed> {
        let tokens = |texts: Vec<String>| texts.iter().map(|text| text.parse()).collect();
        let until = self.lease_until.as_deref().map(timestamp::parse);
        Ok(Renewed {
            until: until.transpose()?,
            lost: tokens(self.lost)?,
            unreached: self.unreached.map(tokens).transpose()?,
            cancel: self.cancel.iter().map(JobId::new).collect::<Result<_>>()?,
        })
    }
}
