//! Claims whose reply could not be delivered. Their jobs are released at once instead of when the
//! lease expires.

use windlass_core::{JobLease, OutcomeStatus, QueueName, Result, Store};

/// How often a call is repeated if its outcome is unknown.
const RETRIES_MAX: u32 = 3;

/// Claimed jobs whose reply is not yet delivered.
#[derive(Debug)]
pub struct Undelivered {
    /// The queue.
    pub queue: QueueName,
    /// The leases of the jobs, in the order of the claim.
    pub leases: Vec<JobLease>,
}

impl Undelivered {
    /// Returns the claimed jobs, or `None` for an empty list.
    pub fn new(queue: &QueueName, leases: Vec<JobLease>) -> Option<Self> {
        let queue = queue.clone();
        (!leases.is_empty()).then_some(Self { queue, leases })
    }

    /// Releases the jobs, and retries if the outcome is unknown; the token makes that safe. If it
    /// fails, the jobs become ready again when the lease expires.
    pub async fn release(&self, store: &dyn Store) -> Result<Vec<OutcomeStatus>> {
        until_known(|| store.release(&self.queue, self.leases.clone())).await
    }
}

/// Repeats a call whose outcome is unknown. Only for calls that are safe to repeat.
pub async fn until_known<T, F>(call: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut retries = 0;
    loop {
        match call().await {
            Err(error) if error.is_unknown() && retries < RETRIES_MAX => retries += 1,
            result => return result,
        }
    }
}
