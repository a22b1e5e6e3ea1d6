//! Claims whose reply could not be delivered. Their jobs are released at once instead of when the
//! lease expires.

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::{JobId, JobLease, OutcomeStatus, QueueName, Result, Store, Token};

/// How often a release is retried if its outcome is unknown.
const RETRIES_MAX: u32 = 3;

/// Claimed jobs in a reply that is not yet delivered.
#[derive(Debug)]
pub(crate) struct UndeliveredClaim {
    pub(crate) queue: QueueName,
    pub(crate) leases: Vec<JobLease>,
}

/// A claimed job in a reply.
#[derive(Deserialize)]
struct ClaimedJob {
    id: String,
    queue: String,
    token: String,
}

#[derive(Deserialize)]
struct CompleteReply {
    claimed: Vec<ClaimedJob>,
}

impl UndeliveredClaim {
    /// Returns the claimed jobs in a reply to `op`.
    pub(crate) fn from_reply(op: &str, reply: &RawValue) -> Option<Self> {
        let jobs: Vec<ClaimedJob> = match op {
            "claim" => serde_json::from_str(reply.get()).ok()?,
            "complete" => {
                serde_json::from_str::<CompleteReply>(reply.get())
                    .ok()?
                    .claimed
            }
            _ => return None,
        };
        let queue = QueueName::new(&jobs.first()?.queue).ok()?;
        let lease = |job: &ClaimedJob| {
            let token: Token = job.token.parse().ok()?;
            Some(JobLease::new(JobId::new(&job.id).ok()?, token))
        };
        let leases = jobs.iter().filter_map(lease).collect();
        Some(Self { queue, leases })
    }
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
pub(crate) async fn release_all(
    store: &dyn Store,
    claims: Vec<UndeliveredClaim>,
) -> Vec<UndeliveredJob> {
    let mut undelivered = Vec::new();
    for claim in claims.into_iter().rev() {
        let statuses = release(store, &claim).await;
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

/// Releases jobs, and retries if the outcome is unknown; the token makes that safe.
async fn release(store: &dyn Store, claim: &UndeliveredClaim) -> Result<Vec<OutcomeStatus>> {
    let mut retries = 0;
    loop {
        match store.release(&claim.queue, claim.leases.clone()).await {
            Err(error) if error.is_unknown() && retries < RETRIES_MAX => retries += 1,
            result => return result,
        }
    }
}
