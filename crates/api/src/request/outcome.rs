//! complete, fail, release and snooze: report the outcome of one job, or of several.

mod sent;
mod snooze;

use bytes::Bytes;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Completion, Failure, Jitter, Retry};
use windlass_core::{
    Due, Error as CoreError, JobId, JobLease, OutcomeStatus, QueueName, Result, Store,
};

use super::claim::job_lease;
use super::{ApiResult, Claim, QueueRequest};
use crate::claim::{ClaimReply, OutcomeReply};
use crate::content::{self, Text};
use crate::enqueue::{TimeValue, due};
use crate::error::Error;

pub use snooze::{Snooze, SnoozedJob};

/// The reply for one job, or for each of several.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OutcomesReply {
    /// The reply for one job.
    One(OutcomeReply),
    /// The replies in the order of the request, and the jobs claimed in the same transaction. Also used
    /// for one job with a claim, because an error would hide the claimed jobs.
    Many {
        /// `outcome` may be `lease_lost` or `gone`.
        jobs: Vec<OutcomeReply>,
        /// The claimed jobs, if `claim` was set.
        #[serde(skip_serializing_if = "Option::is_none")]
        claimed: Option<Vec<ClaimReply>>,
    },
}

/// Returns the jobs of a request, and whether it was a single one. `has_job_fields` says that fields
/// of a single job are set, which `jobs` does not allow.
fn items<T>(one: Option<T>, many: Option<Vec<T>>, has_job_fields: bool) -> Result<(Vec<T>, bool)> {
    let help = "set either id and token, or jobs";
    match (one, many) {
        (Some(one), None) => Ok((vec![one], true)),
        (None, Some(_)) if has_job_fields => Err(CoreError::invalid(
            "request",
            "result, error, permanent, delay, at and scope belong to one job",
            "move them into each entry of jobs",
        )),
        (None, Some(many)) => Ok((many, false)),
        (None, None) => Err(CoreError::invalid("request", "no job selected", help)),
        (Some(_), Some(_)) => Err(CoreError::invalid(
            "request",
            "both a job and jobs are set",
            help,
        )),
    }
}

fn both<T>(
    id: Option<String>,
    token: Option<String>,
    create: impl FnOnce(String, String) -> T,
) -> Option<T> {
    match (id, token) {
        (None, None) => None,
        // A missing one becomes empty, which is then rejected.
        (id, token) => Some(create(id.unwrap_or_default(), token.unwrap_or_default())),
    }
}

fn reply(
    queue: &QueueName,
    ids: &[JobId],
    statuses: &[OutcomeStatus],
    is_one: bool,
    claimed: Option<Vec<ClaimReply>>,
) -> ApiResult<OutcomesReply> {
    if let (true, None, [id], [status]) = (is_one, &claimed, ids, statuses) {
        return match status {
            OutcomeStatus::LeaseLost => Err(Error::lease_lost(id)),
            OutcomeStatus::Gone => Err(Error::gone(queue, id)),
            status => Ok(OutcomesReply::One(OutcomeReply::from_status(
                queue, id, *status,
            ))),
        };
    }
    let pairs = ids.iter().zip(statuses);
    Ok(OutcomesReply::Many {
        jobs: pairs
            .map(|(id, status)| OutcomeReply::from_status(queue, id, *status))
            .collect(),
        claimed,
    })
}

fn ids<'a>(leases: impl Iterator<Item = &'a JobLease>) -> Vec<JobId> {
    leases.map(|lease| lease.id.clone()).collect()
}

/// Completes jobs and, in the same transaction, optionally claims more.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Complete {
    /// Job id
    #[arg(required = true)]
    pub id: Option<String>,
    /// Lease token of the claim
    #[arg(long, value_name = "T", required = true)]
    pub token: Option<String>,
    /// The result. A string is stored as its bytes, any other JSON as its exact text.
    #[serde(
        deserialize_with = "content::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    #[arg(skip)]
    pub result: Option<Text>,
    /// The result as base64, for binary data. Excludes `result`.
    #[arg(skip)]
    pub result_base64: Option<String>,
    /// The result as bytes, set by interfaces that receive bytes. Excludes the other two.
    #[serde(skip)]
    #[arg(skip)]
    pub result_bytes: Option<Bytes>,
    /// Several jobs. Excludes the fields of one job.
    #[arg(skip)]
    pub jobs: Option<Vec<CompletedJob>>,
    /// Claims more jobs in the same transaction, without waiting.
    #[arg(skip)]
    pub claim: Option<Claim>,
}

/// A completed job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CompletedJob {
    /// The job id.
    pub id: String,
    /// The token of the claim.
    pub token: String,
    /// The result.
    #[serde(
        deserialize_with = "content::present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<serde_json::Value>")]
    pub result: Option<Text>,
    /// The result as base64, for binary data.
    pub result_base64: Option<String>,
    /// The result as bytes, set by interfaces that receive bytes.
    #[serde(skip)]
    pub result_bytes: Option<Bytes>,
}

impl CompletedJob {
    fn completion(&self) -> Result<Completion> {
        let (text, base64) = (self.result.as_ref(), self.result_base64.as_deref());
        let result = content::of(text, base64, "result")?;
        let result = result.or_else(|| self.result_bytes.clone());
        Ok(Completion {
            lease: job_lease(&self.id, &self.token)?,
            result,
        })
    }
}

impl QueueRequest for Complete {
    const OP: &'static str = "complete";
    type Reply = OutcomesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomesReply> {
        let (result, result_base64) = (self.result, self.result_base64);
        let result_bytes = self.result_bytes;
        let has_job_fields = result.is_some() || result_base64.is_some();
        let one = both(self.id, self.token, |id, token| CompletedJob {
            id,
            token,
            result,
            result_base64,
            result_bytes,
        });
        let (jobs, is_one) = items(one, self.jobs, has_job_fields)?;
        let completions = jobs
            .iter()
            .map(CompletedJob::completion)
            .collect::<Result<Vec<_>>>()?;
        let ids = ids(completions.iter().map(|completion| &completion.lease));
        let is_full = self.claim.as_ref().and_then(|claim| claim.full) == Some(true);
        let next = self.claim.map(Claim::into_request).transpose()?;
        let next = next.map(|(request, _)| request);
        let claimer = next.as_ref().map(|request| request.claimer.clone());
        let completed = store.complete(queue, completions, next).await?;
        let next = completed.next.as_ref();
        let claimed = claimer.map(|claimer| ClaimReply::detailed(queue, next, &claimer, is_full));
        reply(queue, &ids, &completed.statuses, is_one, claimed)
    }
}

/// Fails attempts. Each job is retried later or becomes dead.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Fail {
    /// Job id
    #[arg(required = true)]
    pub id: Option<String>,
    /// Lease token of the claim
    #[arg(long, value_name = "T", required = true)]
    pub token: Option<String>,
    /// Error message
    #[arg(long, value_name = "E", required = true, allow_hyphen_values = true)]
    pub error: Option<String>,
    /// Do not retry; the job becomes dead
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        conflicts_with = "delay"
    )]
    pub permanent: Option<bool>,
    /// Retry after this long [default: the retry policy of the job]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Several jobs. Excludes the fields of one job.
    #[arg(skip)]
    pub jobs: Option<Vec<FailedJob>>,
}

/// A failed job.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FailedJob {
    /// The job id.
    pub id: String,
    /// The token of the claim.
    pub token: String,
    /// The error message.
    pub error: String,
    /// Do not retry: the job becomes dead (default: false).
    pub permanent: Option<bool>,
    /// The delay before the next attempt (default: by the retry policy of the job).
    pub delay: Option<String>,
    /// The time of the next attempt. Excludes `delay`.
    pub at: Option<TimeValue>,
    /// The random part of a delay by the retry policy, from 0 to 65535 (default: generated).
    pub jitter: Option<u16>,
}

impl FailedJob {
    fn failure(self) -> Result<Failure> {
        let failure = job_lease(&self.id, &self.token)?.failure(self.error);
        let at = self.at.map(|at| at.text());
        let due = due(self.delay.as_deref(), at.as_deref())?;
        match (self.permanent.unwrap_or(false), due) {
            (false, Due::Now) => Ok(match self.jitter {
                Some(jitter) => failure.retry(Retry::ByPolicy(Jitter(jitter))),
                None => failure,
            }),
            (true, Due::Now) => Ok(failure.retry(Retry::Permanent)),
            (false, due) => Ok(failure.retry(Retry::At(due))),
            (true, _) => Err(CoreError::invalid(
                "failure",
                "both permanent and delay are set",
                "set one of the two",
            )),
        }
    }
}

impl QueueRequest for Fail {
    const OP: &'static str = "fail";
    type Reply = OutcomesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomesReply> {
        let (error, permanent, delay) = (self.error, self.permanent, self.delay);
        let has_job_fields = error.is_some() || permanent.is_some() || delay.is_some();
        let one = both(self.id, self.token, |id, token| FailedJob {
            id,
            token,
            error: error.unwrap_or_default(),
            permanent,
            delay,
            ..FailedJob::default()
        });
        let (jobs, is_one) = items(one, self.jobs, has_job_fields)?;
        let failures = jobs
            .into_iter()
            .map(FailedJob::failure)
            .collect::<Result<Vec<_>>>()?;
        let ids = ids(failures.iter().map(|failure| &failure.lease));
        let statuses = store.fail(queue, failures).await?;
        reply(queue, &ids, &statuses, is_one, None)
    }
}

/// Returns jobs to the queue without counting the attempt.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Release {
    /// Job id
    #[arg(required = true)]
    pub id: Option<String>,
    /// Lease token of the claim
    #[arg(long, value_name = "T", required = true)]
    pub token: Option<String>,
    /// Several jobs. Excludes the fields of one job.
    #[arg(skip)]
    pub jobs: Option<Vec<LeasedJob>>,
}

/// A job and the token of its claim.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LeasedJob {
    /// The job id.
    pub id: String,
    /// The token of the claim.
    pub token: String,
}

impl QueueRequest for Release {
    const OP: &'static str = "release";
    type Reply = OutcomesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomesReply> {
        let one = both(self.id, self.token, |id, token| LeasedJob { id, token });
        let (jobs, is_one) = items(one, self.jobs, false)?;
        let leases = jobs.iter().map(|job| job_lease(&job.id, &job.token));
        let leases = leases.collect::<Result<Vec<_>>>()?;
        let ids = ids(leases.iter());
        let statuses = store.release(queue, leases).await?;
        reply(queue, &ids, &statuses, is_one, None)
    }
}
