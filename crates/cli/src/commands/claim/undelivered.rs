//! A claim whose reply could not be printed: its jobs are released now, not when the lease expires.

use windlass::store::{Claim, JobLease, Mode};
use windlass::{JobId, QueueName, Store};
use windlass_api::{Code, Error, Undelivered, timestamp};

use crate::exit::CliError;

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
    let lease = |id: &JobId| JobLease::new(id.clone(), claim.token);
    let undelivered = Undelivered {
        queue: queue.clone(),
        leases: ids.iter().map(lease).collect(),
    };
    match undelivered.release(store).await {
        // A job whose lease is lost has already been returned or has ended.
        Ok(_) => {
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
    CliError::from(Error::new(Code::Unwritable, message, help))
}

fn list(ids: &[JobId]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("{id:?}")).collect();
    ids.join(", ")
}
