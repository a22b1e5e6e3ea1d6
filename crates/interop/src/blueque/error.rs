//! What a script refused, in words.

use windlass_core::{Error, ErrorKind, Result};

/// The answer of a script about one task: done, or why not.
pub(super) fn check(word: &str, id: &str, queue: &str) -> Result<()> {
    match word {
        "done" => Ok(()),
        "not_found" => Err(not_found(id)),
        "other_queue" => Err(Error::new(
            ErrorKind::Conflict,
            format!("the task {id} does not belong to the queue {queue}"),
            format!("see which it is with `windlass interop blueque get {id}`"),
        )),
        "lost" => Err(Error::new(
            ErrorKind::Conflict,
            format!("the task {id} is held by somebody else now"),
            "drop what was done for it: whoever holds it does it again",
        )),
        _ => {
            let status = word.strip_prefix("status ").unwrap_or(word);
            Err(Error::new(
                ErrorKind::Conflict,
                format!("the task {id} is {status}, which does not allow this"),
                format!("see how it stands with `windlass interop blueque get {id}`"),
            ))
        }
    }
}

/// Nobody knows this task.
pub(super) fn not_found(id: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("there is no task {id}"),
        "look whether the id and --layout are right, and whether it was deleted",
    )
}

/// A listener hears that it was declared lost.
pub(super) fn condemned(listener: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the listener {listener} was declared lost: it gave no sign of life in time"),
        "end what it was running, and join again: its tasks went to others",
    )
}
