//! claim, accept, renew, progress: taking jobs and holding on to them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::limits::{LEASE_DEFAULT, check_lease};
use windlass_core::{
    BootId, ClaimRequest, Claimer, JobId, JobLease, LeaseStatus, Mode, QueueName, Renewal, Result,
    Store, Token, duration,
};

use super::{Answer, QueueRequest};
use crate::claim::{ClaimReply, RenewReply, SettleReply};
use crate::error::Error;

/// The longest a door lets a claim wait; whoever wants to wait longer asks again.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Takes jobs under a lease of their own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// How many jobs at most (1 unless said, 100 at most).
    pub max: Option<usize>,
    /// How long they are held without a renewal (30s unless said).
    pub lease: Option<String>,
    /// How long to wait where there is none, up to a minute (not at all unless said).
    pub wait: Option<String>,
    /// For which worker.
    pub worker: Option<String>,
    /// `at_least_once` unless said; `at_most_once` or `dispatch`.
    pub mode: Option<ClaimMode>,
}

/// What a claim promises.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimMode {
    /// Held until they are settled or the lease runs out.
    AtLeastOnce,
    /// Done when they are handed out.
    AtMostOnce,
    /// One job, to be accepted before the lease ends.
    Dispatch,
}

/// The lease that was asked for.
pub(super) fn lease(text: Option<&str>) -> Result<Duration> {
    let lease = text.map_or(Ok(LEASE_DEFAULT), duration::parse)?;
    check_lease(lease)?;
    Ok(lease)
}

impl Claim {
    /// The claim that is meant, and how long it waits.
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
        Ok((request, wait.min(WAIT_MAX)))
    }
}

impl QueueRequest for Claim {
    const OP: &'static str = "claim";
    type Reply = Vec<ClaimReply>;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<Vec<ClaimReply>> {
        let (mut request, wait) = self.into_request()?;
        let claim = store.claim_waiting(queue, &mut request, wait).await?;
        Ok(ClaimReply::all(queue, claim.as_ref()))
    }
}

/// Accepts a dispatched job.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Accept {
    pub id: String,
    pub token: String,
    /// How long it is held from now on (30s unless said).
    pub lease: Option<String>,
}

/// The hold that an id and a token show.
pub(super) fn hold(id: &str, token: &str) -> Result<JobLease> {
    Ok(JobLease::new(JobId::new(id)?, token.parse::<Token>()?))
}

fn held(
    queue: &QueueName,
    id: &JobId,
    held: LeaseStatus,
    word: &'static str,
) -> Answer<SettleReply> {
    match held {
        LeaseStatus::Valid => Ok(SettleReply::new(queue, id, word)),
        LeaseStatus::Lost => Err(Error::lease_lost(id)),
    }
}

impl QueueRequest for Accept {
    const OP: &'static str = "accept";
    type Reply = SettleReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleReply> {
        let hold = hold(&self.id, &self.token)?;
        let id = hold.id.clone();
        let lease = lease(self.lease.as_deref())?;
        held(
            queue,
            &id,
            store.accept(queue, hold, lease).await?,
            "accepted",
        )
    }
}

/// Holds on to what a token holds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Renew {
    pub token: String,
    /// How long from now on (30s unless said).
    pub lease: Option<String>,
}

impl QueueRequest for Renew {
    const OP: &'static str = "renew";
    type Reply = RenewReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<RenewReply> {
        let token: Token = self.token.parse()?;
        let lease = lease(self.lease.as_deref())?;
        let renewed = store.renew(queue, Renewal::Single { token }, lease).await?;
        RenewReply::new(queue, token, &renewed).ok_or_else(Error::nothing_held)
    }
}

/// Says how far a job has come; renews nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Progress {
    pub id: String,
    pub token: String,
    /// 0 to 1.
    pub fraction: f64,
    pub message: Option<String>,
}

impl QueueRequest for Progress {
    const OP: &'static str = "progress";
    type Reply = SettleReply;

    async fn answer(self, store: &dyn Store, queue: &QueueName) -> Answer<SettleReply> {
        let hold = hold(&self.id, &self.token)?;
        let id = hold.id.clone();
        let noted = store
            .progress(queue, hold, self.fraction, self.message)
            .await?;
        held(queue, &id, noted, "noted")
    }
}
