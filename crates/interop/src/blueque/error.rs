//! Errors for the replies of scripts.

use windlass_core::{Error, ErrorKind, Result};

/// Converts a script's reply about one task to a result.
pub(super) fn check(status: &str, id: &str, queue: &str) -> Result<()> {
    match status {
        "done" => Ok(()),
        "not_found" => Err(not_found(id)),
        "other_queue" => Err(Error::new(
            ErrorKind::Conflict,
            format!("task {id} does not belong to queue {queue}"),
            format!("show its queue with `windlass interop blueque get {id}`"),
        )),
        "lost" => Err(Error::new(
            ErrorKind::Conflict,
            format!("task {id} is held by another listener now"),
            "discard the result: the other listener runs the task again",
        )),
        _ => {
            let status = status.strip_prefix("status ").unwrap_or(status);
            Err(Error::new(
                ErrorKind::Conflict,
                format!("task {id} is {status}, which does not allow this operation"),
                format!("show the task with `windlass interop blueque get {id}`"),
            ))
        }
    }
}

/// The task does not exist.
pub(super) fn not_found(id: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("task {id} not found"),
        "check the id and --layout; the task may have been deleted",
    )
}

/// The listener was declared lost.
pub(super) fn declared_lost(listener: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("listener {listener} was declared lost: it sent no heartbeat in time"),
        "stop its tasks and join again: other listeners run them now",
    )
}
