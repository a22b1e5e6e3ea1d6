//! What happened to claimed jobs whose reply could not be delivered.

use windlass_api::Undelivered;
use windlass_core::{JobId, OutcomeStatus, Store};

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
