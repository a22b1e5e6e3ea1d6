//! A claim whose reply could not be printed: its jobs are released now, not when the lease expires.

use windlass::{QueueName, Store};
use windlass_api::{ClaimReply, Code, Error, Undelivered};

use crate::exit::CliError;

/// Releases the claimed jobs if possible. Returns the error that says what happened to them.
pub(super) async fn release(
    store: &dyn Store,
    queue: &QueueName,
    jobs: &[ClaimReply],
    is_at_most_once: bool,
    why: &str,
) -> CliError {
    let ids: Vec<_> = jobs.iter().map(|job| format!("{:?}", job.id)).collect();
    let ids = ids.join(", ");
    let undelivered = Undelivered {
        queue: queue.clone(),
        leases: jobs.iter().filter_map(ClaimReply::lease).collect(),
    };
    let (outcome, help) = if is_at_most_once {
        (
            format!("they were claimed at most once from queue {queue} and are lost: {ids}"),
            "enqueue them again if needed; without --at-most-once such jobs are returned to the queue"
                .to_owned(),
        )
    } else if let Err(error) = undelivered.release(store).await {
        let until = jobs.first().map_or("", |job| &job.lease_until);
        let error = Error::from(&error).message;
        (
            format!("nor return them to queue {queue}: {ids}: {error}"),
            format!("they return to the queue when the lease expires, at {until}"),
        )
    } else {
        // A job whose lease is lost has already been returned or has ended.
        (
            format!("they were returned to queue {queue}: {ids}"),
            "claim again, and read stdout to the end".to_owned(),
        )
    };
    let message = format!("cannot print the claimed jobs: {why}; {outcome}");
    CliError::from(Error::new(Code::Unwritable, message, help))
}
