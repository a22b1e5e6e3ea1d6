//! How every refusal looks: a code that never changes, what happened, and what to do next.

use std::borrow::Cow;
use std::error::Error as StdError;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::{BootId, Error as CoreError, JobId, JobState, QueueName};

use crate::change::Verb;

/// A refusal or a failure, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Error {
    /// Programs match on this; it never changes.
    pub code: Cow<'static, str>,
    /// What happened and why.
    pub message: String,
    /// What to do next.
    pub help: String,
    /// The line of the input it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A problem as the document a door answers with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorReply {
    /// The problem.
    pub error: Error,
}

impl Error {
    /// A problem with a code of its own.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            help: help.into(),
            line: None,
        }
    }

    /// Says which line of the input it is about.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The token does not hold the job.
    pub fn lease_lost(id: &JobId) -> Self {
        Self::new(
            "lease_lost",
            format!("the token does not hold job {id:?} any more; nothing changed"),
            "somebody else may have it by now: discard this outcome, or claim again",
        )
    }

    /// The job is not stored any more.
    pub fn gone(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            "gone",
            format!(
                "the queue {queue} has no job {id:?}: it has ended and was not kept, or never \
                 was; nothing changed"
            ),
            format!("see what it has with `windlass job list {queue}`"),
        )
    }

    /// The store answered nothing where it has to.
    pub fn no_answer() -> Self {
        let help = "this is a fault of Windlass: report it";
        Self::new("internal", "the store gave no answer for the job", help)
    }

    /// The token holds nothing.
    pub fn nothing_held() -> Self {
        let help = "stop what runs under it, or claim again";
        Self::new(
            "lease_lost",
            "the token holds nothing any more; nothing changed",
            help,
        )
    }

    /// No live job holds the unique key.
    pub fn key_not_held(queue: &QueueName) -> Self {
        Self::new(
            "not_found",
            format!("no live job of the queue {queue} holds this unique key"),
            format!("see what it has with `windlass job list {queue}`"),
        )
    }

    /// No job has the payload.
    pub fn no_payload(queue: &QueueName) -> Self {
        Self::new(
            "not_found",
            format!("no job of the queue {queue} has exactly this payload; nothing changed"),
            format!("see what it has with `windlass job list {queue}`"),
        )
    }

    /// The job was there and is not any more.
    pub fn left(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            "gone",
            format!("job {id:?} has left the store: it succeeded without a result, or was removed"),
            format!(
                "to keep outcomes enqueue with --wait, or `windlass queue set {queue} keep_succeeded=all`"
            ),
        )
    }

    /// The job did not end in time.
    pub fn not_ended(id: &JobId, state: JobState) -> Self {
        Self::new(
            "timed_out",
            format!("job {id:?} has not ended in time: it is {state}"),
            "wait longer, or look whether a worker is alive with `windlass workers`",
        )
    }

    /// Whoever answers is stopping, and does not wait any longer.
    pub fn cut_short() -> Self {
        Self::new(
            "timed_out",
            "the wait was cut short: what answers here is stopping",
            "ask again, elsewhere or once it runs again",
        )
    }

    /// There is no such worker.
    pub fn no_worker(id: &BootId) -> Self {
        Self::new(
            "not_found",
            format!("there is no worker {id:?}"),
            "see who is alive with `windlass workers`",
        )
    }

    /// Says which item of a list it is about.
    #[must_use]
    pub fn in_item(mut self, at: usize) -> Self {
        self.message = format!("item {at}: {}", self.message);
        self
    }

    /// There is no such job.
    pub fn no_job(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            "not_found",
            format!("the queue {queue} has no job {id:?}"),
            format!("see what it has with `windlass job list {queue}`"),
        )
    }

    /// There is no such queue.
    pub fn no_queue(queue: &QueueName) -> Self {
        Self::new(
            "not_found",
            format!("there is no queue {queue}"),
            "see which there are with `windlass queue list`",
        )
    }

    /// The job's state forbids what was asked.
    pub fn wrong_state(queue: &QueueName, id: &JobId, state: JobState, verb: Verb) -> Self {
        Self::new(
            "wrong_state",
            format!("job {id:?} is {state}: it cannot be {}", verb.done()),
            format!(
                "{}; look at it with `windlass job get {queue} {}`",
                verb.fits(),
                word(id)
            ),
        )
    }

    /// Another live job holds the unique key.
    pub fn key_taken(queue: &QueueName, id: &JobId, holder: &JobId) -> Self {
        Self::new(
            "conflict",
            format!("the unique key of job {id:?} is held by job {holder:?}"),
            format!(
                "wait until that job has ended, or cancel it with `windlass job cancel {queue} {}`",
                word(holder)
            ),
        )
    }
}

impl From<CoreError> for Error {
    fn from(error: CoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&CoreError> for Error {
    fn from(error: &CoreError) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let why = error.to_string();
            // Some errors tell their cause themselves.
            if !message.contains(&why) {
                message = format!("{message}: {why}");
            }
            cause = error.source();
        }
        Self::new(error.code(), message, error.help())
    }
}

/// An id as a word of a shell: it can be pasted whatever is in it.
fn word(id: &JobId) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    if id.as_str().chars().all(is_plain) {
        return id.to_string();
    }
    format!("'{}'", id.as_str().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use windlass_core::ErrorKind;

    use super::*;

    #[test]
    fn an_id_in_a_command_to_paste_commands_nothing() {
        for (id, pasted) in [
            ("letter-1", "letter-1"),
            ("$(true) 2", "'$(true) 2'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(word(&JobId::new(id).unwrap()), pasted);
        }
    }

    #[test]
    fn an_error_tells_its_whole_story() {
        let error = CoreError::new(ErrorKind::StoreBusy, "the store is held", "try again")
            .caused_by(std::io::Error::other("locked"));

        let problem = Error::from(&error);

        assert_eq!(
            serde_json::to_string(&ErrorReply { error: problem }).unwrap(),
            r#"{"error":{"code":"store_busy","message":"the store is held: locked","help":"try again"}}"#
        );
    }
}
