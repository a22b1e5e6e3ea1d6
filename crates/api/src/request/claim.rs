//! claim, accept, renew and progress.

use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::{
    BootId, ClaimRequest, Claimer, Fraction, JobId, JobLease, LeaseStatus, LeaseTime, Mode,
    QueueName, Renewal, Result, Store, Token, duration,
};

use super::{ApiResult, QueueRequest, WAIT_MAX};
use crate::claim::{ClaimReply, OutcomeReply, RenewReply};
use crate::error::Error;

/// Claims jobs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// Maximum number of jobs, from 1 to 100 [default: 1]
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Lease duration [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub lease: Option<String>,
    /// How long to wait for a job, up to one minute (default: 0s).
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(help = "How long to wait if no job is available [default: do not wait]")]
    pub wait: Option<String>,
    /// Worker id to record, shown by `job get`
    #[arg(long, value_name = "ID")]
    pub worker: Option<String>,
    /// The delivery guarantee (default: `at_least_once`).
    #[arg(skip)]
    pub mode: Option<ClaimMode>,
}

/// The delivery guarantee of a claim.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMode {
    /// The jobs are leased until an outcome is reported or the lease expires.
    AtLeastOnce,
    /// The jobs are marked as succeeded when they are claimed.
    AtMostOnce,
    /// One job, which must be accepted before the lease expires.
    Dispatch,
}

/// Parses and checks a lease.
pub(super) fn lease(text: Option<&str>) -> Result<LeaseTime> {
    text.map_or_else(
        || Ok(LeaseTime::default()),
        |text| LeaseTime::new(duration::parse(text)?),
    )
}

impl Claim {
    /// Validates the request. Returns the claim, and how long it waits if it may wait that long.
    pub fn into_request(self) -> Result<(ClaimRequest, Duration)> {
        let mode = match self.mode {
            None | Some(ClaimMode::AtLeastOnce) => Mode::AtLeastOnce,
            Some(ClaimMode::AtMostOnce) => Mode::AtMostOnce,
            Some(ClaimMode::Dispatch) => Mode::Dispatch,
        };
        let mut request = ClaimRequest::single(self.max.unwrap_or(1))
            .lease(lease(self.lease.as_deref())?)
            .mode(mode);
        if let Some(worker) = self.worker {
            request.claimer = Claimer::Single {
                worker: Some(BootId::new(worker)?),
            };
        }
        request.check()?;
        let wait = self
            .wait
            .as_deref()
            .map_or(Ok(Duration::ZERO), duration::parse)?;
        Ok((request, wait))
    }
}

impl QueueRequest for Claim {
    const OP: &'static str = "claim";
    type Reply = Vec<ClaimReply>;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<Vec<ClaimReply>> {
        let (mut request, wait) = self.into_request()?;
        let wait = wait.min(WAIT_MAX);
        let claim = store.claim_waiting(queue, &mut request, wait).await?;
        Ok(ClaimReply::all(queue, claim.as_ref()))
    }
}

/// Accepts a dispatched job.
#[derive(Debug, Clone, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Job id
    pub id: String,
    /// Lease token of the claim
    #[arg(long, value_name = "T")]
    pub token: String,
    /// New lease duration, starting now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub lease: Option<String>,
}

/// Parses an id and a token.
pub(super) fn job_lease(id: &str, token: &str) -> Result<JobLease> {
    Ok(JobLease::new(JobId::new(id)?, token.parse::<Token>()?))
}

fn lease_reply(
    queue: &QueueName,
    id: &JobId,
    status: LeaseStatus,
    outcome: &'static str,
) -> ApiResult<OutcomeReply> {
    match status {
        LeaseStatus::Valid => Ok(OutcomeReply::new(queue, id, outcome)),
        LeaseStatus::Lost => Err(Error::lease_lost(id)),
    }
}

impl QueueRequest for Accept {
    const OP: &'static str = "accept";
    type Reply = OutcomeReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomeReply> {
        let job_lease = job_lease(&self.id, &self.token)?;
        let id = job_lease.id.clone();
        let lease = lease(self.lease.as_deref())?;
        let status = store.accept(queue, job_lease, lease).await?;
        lease_reply(queue, &id, status, "accepted")
    }
}

/// Renews the lease of a claim.
#[derive(Debug, Clone, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// Lease token of the claim
    #[arg(long, value_name = "T")]
    pub token: String,
    /// New lease duration, starting now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub lease: Option<String>,
}

impl QueueRequest for Renew {
    const OP: &'static str = "renew";
    type Reply = RenewReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<RenewReply> {
        let token: Token = self.token.parse()?;
        let lease = lease(self.lease.as_deref())?;
        let renewed = store.renew(queue, Renewal::Single { token }, lease).await?;
        RenewReply::new(queue, token, &renewed).ok_or_else(Error::token_lost)
    }
}

/// Records the progress of a running job. Does not renew the lease.
#[derive(Debug, Clone, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Job id
    pub id: String,
    /// Lease token of the claim
    #[arg(long, value_name = "T")]
    pub token: String,
    /// Fraction done, from 0 to 1
    #[arg(allow_negative_numbers = true)]
    pub fraction: f64,
    /// Message to show with the progress
    pub message: Option<String>,
}

impl QueueRequest for Progress {
    const OP: &'static str = "progress";
    type Reply = OutcomeReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<OutcomeReply> {
        let lease = job_lease(&self.id, &self.token)?;
        let id = lease.id.clone();
        let fraction = Fraction::new(self.fraction)?;
        let status = store.progress(queue, lease, fraction, self.message).await?;
        lease_reply(queue, &id, status, "recorded")
    }
}
