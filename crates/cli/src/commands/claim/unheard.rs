//! A claim whose reply reached nobody: its jobs go back now, not when the lease ends.

use windlass::store::{Claim, JobLease, Mode};
use windlass::{JobId, QueueName, Store};
use windlass_api::{Error, timestamp};

use crate::exit::Failure;

/// How often a release without an answer is repeated.
const REPEATS_MAX: u32 = 3;

/// Gives the jobs of a claim back, where that can be done, and says what became of them.
pub(super) async fn give_back(
    store: &dyn Store,
    queue: &QueueName,
    claim: &Claim,
    mode: Mode,
    why: &str,
) -> Failure {
    let ids: Vec<_> = claim.jobs.iter().map(|job| job.id.clone()).collect();
    if mode == Mode::AtMostOnce {
        return lost(queue, &ids, why);
    }
    let holds: Vec<_> = ids
        .iter()
        .map(|id| JobLease::new(id.clone(), claim.token))
        .collect();
    match release(store, queue, &holds).await {
        Ok(()) => {
            let message = format!(
                "the reply of the claim cannot be written: {why}; the jobs of queue {queue} went back: {}",
                list(&ids)
            );
            unwritable(message, "claim again, with standard output read to its end")
        }
        Err(error) => {
            let message = format!(
                "the reply of the claim cannot be written: {why}; nor can the jobs of queue {queue} be \
                 given back: {}: {}",
                list(&ids),
                Error::from(&error).message
            );
            let until = timestamp::format(claim.until);
            unwritable(
                message,
                format!("they come back when the lease ends, at {until}"),
            )
        }
    }
}

/// Releases, and repeats what got no answer: the token makes that safe.
async fn release(store: &dyn Store, queue: &QueueName, holds: &[JobLease]) -> windlass::Result<()> {
    let mut repeats = 0;
    loop {
        match store.release(queue, holds.to_vec()).await {
            Err(error) if error.is_unknown() && repeats < REPEATS_MAX => repeats += 1,
            // A job that is not held any more is back already, or has ended.
            answer => return answer.map(drop),
        }
    }
}

fn lost(queue: &QueueName, ids: &[JobId], why: &str) -> Failure {
    let message = format!(
        "the reply of the claim cannot be written: {why}; jobs of queue {queue} claimed at most once \
         are lost: {}",
        list(ids)
    );
    unwritable(
        message,
        "enqueue them again where they are needed; claim without --at-most-once to have such jobs given back",
    )
}

fn unwritable(message: String, help: impl Into<String>) -> Failure {
    Failure::from(Error::new("unwritable", message, help))
}

fn list(ids: &[JobId]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("{id:?}")).collect();
    ids.join(", ")
}
