//! A claim whose reply could not be printed: its jobs are released now, not when the lease expires.

use windlass::store::{Claim, JobLease, Mode};
use windlass::{JobId, QueueName, Store};
use windlass_api::{Error, timestamp};

use crate::exit::CliError;

/// Retries of a release with an unknown outcome.
const RETRIES_MAX: u32 = 3;

/// Releases the jobs of a claim if possible. Returns the error that says what happened to them.
pub(super) async fn return_jobs(
    store: &dyn Store,
    queue: &QueueName,
    claim: &Claim,
    mode: Mode,
    why: &str,
) -> CliError {
    let ids: Vec<_> = claim.jobs.iter().map(|job| job.id.clone()).collect();
    if mode == Mode::AtMostOnce {
        return lost(queue, &ids, why);
    }
    let leases: Vec<_> = ids
        .iter()
        .map(|id| JobLease::new(id.clone(), claim.token))
        .collect();
    match release(store, queue, &leases).await {
        Ok(()) => {
            let message = format!(
                "cannot print the claimed jobs: {why}; they were returned to queue {queue}: {}",
                list(&ids)
            );
            unwritable(message, "claim again, and read stdout to the end")
        }
        Err(error) => {
            let message = format!(
                "cannot print the claimed jobs: {why}; nor return them to queue {queue}: {}: {}",
                list(&ids),
                Error::from(&error).message
            );
            let until = timestamp::format(claim.until);
            unwritable(
                message,
                format!("they return to the queue when the lease expires, at {until}"),
            )
        }
    }
}

/// Releases the jobs. Retries if the outcome is unknown, which the token makes safe.
async fn release(
    store: &dyn Store,
    queue: &QueueName,
    leases: &[JobLease],
) -> windlass::Result<()> {
    let mut retries = 0;
    loop {
        match store.release(queue, leases.to_vec()).await {
            Err(error) if error.is_unknown() && retries < RETRIES_MAX => retries += 1,
            // A job whose lease is lost has already been returned or has ended.
            result => return result.map(drop),
        }
    }
}

fn lost(queue: &QueueName, ids: &[JobId], why: &str) -> CliError {
    let message = format!(
        "cannot print the claimed jobs: {why}; they were claimed at most once from queue {queue} and \
         are lost: {}",
        list(ids)
    );
    unwritable(
        message,
        "enqueue them again if needed; without --at-most-once such jobs are returned to the queue",
    )
}

fn unwritable(message: String, help: impl Into<String>) -> CliError {
    CliError::from(Error::new("unwritable", message, help))
}

fn list(ids: &[JobId]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("{id:?}")).collect();
    ids.join(", ")
}
