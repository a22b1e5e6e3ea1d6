//! claim, accept, renew and progress.

use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::store::{Claimer, Fraction, LeaseStatus};
use windlass_core::{
    BootId, ClaimRequest, Error as CoreError, JobId, JobLease, LeaseTime, Mode, QueueName, Renewal,
    Result, Store, Token, duration,
};

use super::{ApiResult, QueueRequest, WAIT_MAX, number};
use crate::claim::{ClaimReply, LeasesReply, OutcomeReply, RenewReply};
use crate::error::Error;

/// Claims jobs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema, Args)]
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
    /// The number of this claim of `worker`, which increases with every claim. All claims of the worker on
    /// the queue then share one lease, and the same number repeats the same claim.
    #[arg(skip)]
    pub seq: Option<u64>,
    /// The random part of the token (default: generated).
    #[arg(skip)]
    pub nonce: Option<u32>,
    /// Whether to reply with the retry delays of the jobs (default: false).
    #[arg(skip)]
    pub full: Option<bool>,
}

impl From<&ClaimRequest> for Claim {
    fn from(request: &ClaimRequest) -> Self {
        let seq = matches!(request.claimer, Claimer::Worker { .. }).then(|| request.claimer.seq());
        Self {
            max: Some(request.max),
            lease: Some(duration::format(request.lease.get())),
            wait: None,
            worker: request.claimer.worker().map(ToString::to_string),
            mode: Some(match request.mode {
                Mode::AtLeastOnce => ClaimMode::AtLeastOnce,
                Mode::AtMostOnce => ClaimMode::AtMostOnce,
                Mode::Dispatch => ClaimMode::Dispatch,
            }),
            seq,
            nonce: Some(request.nonce),
            full: Some(true),
        }
    }
}

/// The delivery guarantee of a claim.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
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
        |text| LeaseTime::new(duration::parse_named("lease", text)?),
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
        let worker = self.worker.map(BootId::new).transpose()?;
        request.claimer = match (worker, self.seq) {
            (Some(boot), Some(seq)) => Claimer::Worker { boot, seq },
            (None, Some(_)) => {
                let why = "seq is set without worker";
                return Err(CoreError::invalid("claim", why, "set worker as well"));
            }
            (worker, None) => Claimer::Single { worker },
        };
        request.nonce = self.nonce.unwrap_or(request.nonce);
        request.check()?;
        let wait = self.wait.as_deref().map_or(Ok(Duration::ZERO), |text| {
            duration::parse_named("wait", text)
        })?;
        Ok((request, wait))
    }
}

impl QueueRequest for Claim {
    const OP: &'static str = "claim";
    type Reply = Vec<ClaimReply>;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<Vec<ClaimReply>> {
        let is_full = self.full.unwrap_or(false);
        let (mut request, wait) = self.into_request()?;
        let wait = wait.min(WAIT_MAX);
        let claim = store.claim_waiting(queue, &mut request, wait).await?;
        let claim = claim.as_ref();
        Ok(ClaimReply::detailed(
            queue,
            claim,
            &request.claimer,
            is_full,
        ))
    }
}

/// Accepts a dispatched job.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
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

/// Renews the lease of all claims of a worker on the queue, or of one claim.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RenewLeases {
    /// The worker. Without it, `tokens` has exactly one token.
    pub worker: Option<String>,
    /// The tokens of the open claims.
    pub tokens: Vec<String>,
    /// The highest `seq` whose reply arrived or is no longer awaited. Claims of the worker up to it that
    /// are not in `tokens` were lost in transit, and their jobs return to the queue (default: 0).
    pub settled: Option<u64>,
    /// The new lease (default: 30s).
    pub lease: Option<String>,
}

impl RenewLeases {
    /// Creates the request of a renewal.
    pub fn new(renewal: Renewal, lease: LeaseTime) -> Self {
        let lease = Some(duration::format(lease.get()));
        match renewal {
            Renewal::Worker {
                boot,
                tokens,
                settled,
            } => Self {
                worker: Some(boot.to_string()),
                tokens: tokens.iter().map(ToString::to_string).collect(),
                settled: Some(settled),
                lease,
            },
            Renewal::Single { token } => Self {
                tokens: vec![token.to_string()],
                lease,
                ..Self::default()
            },
        }
    }
}

impl QueueRequest for RenewLeases {
    const OP: &'static str = "renew_leases";
    type Reply = LeasesReply;

    async fn execute(self, store: &dyn Store, queue: &QueueName) -> ApiResult<LeasesReply> {
        let tokens = self.tokens.iter().map(|token| token.parse());
        let tokens = tokens.collect::<Result<Vec<Token>>>()?;
        let renewal = match (self.worker, tokens.as_slice()) {
            (Some(worker), _) => Renewal::Worker {
                boot: BootId::new(worker)?,
                tokens,
                settled: self.settled.unwrap_or(0),
            },
            (None, [token]) => Renewal::Single { token: *token },
            (None, _) => {
                let why = "without worker, exactly one token can be renewed";
                return Err(CoreError::invalid("request", why, "set worker").into());
            }
        };
        let lease = lease(self.lease.as_deref())?;
        let renewed = store.renew(queue, renewal, lease).await?;
        Ok(LeasesReply::from(&renewed))
    }
}

/// Records the progress of a running job. Does not renew the lease.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Job id
    pub id: String,
    /// Lease token of the claim
    #[arg(long, value_name = "T")]
    pub token: String,
    /// Fraction done, from 0 to 1
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = number::<f64>("progress", "use a fraction from 0 to 1, for example 0.4"))]
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
