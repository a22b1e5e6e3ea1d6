//! The JSON form of errors: a stable code, a message and help.

use std::error::Error as StdError;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::store::{Fingerprint, GroupName};
use windlass_core::{BootId, Change, Error as CoreError, JobId, JobState, QueueName, ScheduleName};

use crate::code::Code;

/// An error reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Error {
    /// The stable error code. Match on this, not on the message.
    pub code: Code,
    /// What failed and why.
    pub message: String,
    /// What to do next.
    pub help: String,
    /// The line of the input, starting at 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The JSON document for an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ErrorReply {
    /// The error.
    pub error: Error,
}

impl Error {
    /// Creates an error.
    pub fn new(code: Code, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: help.into(),
            line: None,
        }
    }

    /// Sets the line of the input.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The token is not valid for the job.
    pub fn lease_lost(id: &JobId) -> Self {
        Self::new(
            Code::LeaseLost,
            format!("lease lost: the token is no longer valid for job {id:?}; nothing changed"),
            "discard this outcome: the job has ended, or another worker runs it",
        )
    }

    /// The job is no longer stored.
    pub fn gone(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            Code::Gone,
            format!(
                "job {id:?} not found in queue {queue}: it finished and was not kept, or never existed; \
                 nothing changed"
            ),
            format!("list the jobs with `windlass job list {queue}`"),
        )
    }

    /// The store returned fewer replies than expected.
    pub fn missing_reply() -> Self {
        let help = "this is a bug in Windlass; please report it";
        Self::new(
            Code::Internal,
            "the store returned no reply for the job",
            help,
        )
    }

    /// The token is not valid for any job.
    pub fn token_lost() -> Self {
        let help = "stop the jobs of this token; other workers may be running them";
        Self::new(
            Code::LeaseLost,
            "lease lost: the token is no longer valid; nothing changed",
            help,
        )
    }

    /// No job holds the unique key.
    pub fn unique_key_not_found(queue: &QueueName) -> Self {
        Self::new(
            Code::NotFound,
            format!("no job in queue {queue} holds this unique key"),
            format!("list the jobs with `windlass job list {queue}`"),
        )
    }

    /// No job has the payload.
    pub fn payload_not_found(queue: &QueueName) -> Self {
        Self::new(
            Code::NotFound,
            format!("no job in queue {queue} has exactly this payload; nothing changed"),
            format!("list the jobs with `windlass job list {queue}`"),
        )
    }

    /// The job is no longer stored, so its outcome is unknown.
    pub fn not_kept(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            Code::Gone,
            format!(
                "job {id:?} is no longer stored: it succeeded without a result, or was removed"
            ),
            format!(
                "to keep outcomes, enqueue with --wait, or run `windlass queue set {queue} keep_succeeded=all`"
            ),
        )
    }

    /// The job did not finish in time.
    pub fn wait_timed_out(id: &JobId, state: JobState) -> Self {
        Self::new(
            Code::TimedOut,
            format!("timed out waiting for job {id:?}; its state is {state}"),
            "wait longer, or check that a worker is running with `windlass workers`",
        )
    }

    /// The process is shutting down and ends the wait.
    pub fn shutting_down() -> Self {
        Self::new(
            Code::TimedOut,
            "the wait was interrupted: the process is shutting down",
            "repeat the request, on another server or after the restart",
        )
    }

    /// The worker does not exist.
    pub fn worker_not_found(id: &BootId) -> Self {
        Self::new(
            Code::NotFound,
            format!("worker {id:?} not found"),
            "list the workers with `windlass workers`",
        )
    }

    /// Prefixes the message with the index of an item.
    #[must_use]
    pub fn in_item(mut self, index: usize) -> Self {
        self.message = format!("item {index}: {}", self.message);
        self
    }

    /// The job does not exist.
    pub fn job_not_found(queue: &QueueName, id: &JobId) -> Self {
        Self::new(
            Code::NotFound,
            format!(
                "job {id:?} not found in queue {queue}: it finished and was not kept, or never existed"
            ),
            format!(
                "list the jobs with `windlass job list {queue}`; to keep succeeded jobs, run \
                 `windlass queue set {queue} keep_succeeded=all`"
            ),
        )
    }

    /// The queue does not exist.
    pub fn queue_not_found(queue: &QueueName) -> Self {
        Self::new(
            Code::NotFound,
            format!("queue {queue} not found"),
            "list the queues with `windlass queue list`",
        )
    }

    /// A queue with jobs cannot be deleted.
    pub fn queue_has_jobs(queue: &QueueName) -> Self {
        Self::new(
            Code::Conflict,
            format!("queue {queue} has jobs, so it cannot be deleted"),
            format!(
                "delete the jobs first: `windlass queue delete {queue}` does both, unless jobs are running"
            ),
        )
    }

    /// A queue with schedules cannot be deleted.
    pub fn queue_has_schedules(queue: &QueueName) -> Self {
        Self::new(
            Code::Conflict,
            format!("queue {queue} has schedules, so it cannot be deleted"),
            format!("delete them first: `windlass schedules delete {queue} NAME`"),
        )
    }

    /// The schedule does not exist.
    pub fn schedule_not_found(queue: &QueueName, name: &ScheduleName) -> Self {
        Self::new(
            Code::NotFound,
            format!("schedule {name} not found in queue {queue}"),
            "list the schedules of all queues with `windlass schedules list`",
        )
    }

    /// The queue has no such group of errors.
    pub fn error_group_not_found(queue: &QueueName, group: Fingerprint) -> Self {
        Self::new(
            Code::NotFound,
            format!("error group {group} not found in queue {queue}"),
            format!("list the groups with `windlass queue errors {queue}`"),
        )
    }

    /// The store knows nothing of the group.
    pub fn group_not_found(queue: &QueueName, group: &GroupName) -> Self {
        Self::new(
            Code::NotFound,
            format!(
                "group {group} not found in queue {queue}: it has no ready or running jobs and no limits of its own"
            ),
            format!("list the groups with `windlass groups list {queue}`"),
        )
    }

    /// A job of the schedule has not ended.
    pub fn schedule_overlap(name: &ScheduleName, current: &JobId) -> Self {
        Self::new(
            Code::Conflict,
            format!("schedule {name} did not run: its job {current:?} has not ended"),
            "wait for the end of that job, or use `--force` (force in requests)",
        )
    }

    /// The state of the job does not allow the change.
    pub fn wrong_state(queue: &QueueName, id: &JobId, state: JobState, change: Change) -> Self {
        Self::new(
            Code::WrongState,
            format!(
                "job {id:?} cannot be {}: its state is {state}",
                change.past_tense()
            ),
            format!(
                "{}; inspect it with `windlass job get {queue} {}`",
                change.requirement(),
                shell_quote(id)
            ),
        )
    }

    /// Another unfinished job has the unique key.
    pub fn unique_key_conflict(queue: &QueueName, id: &JobId, owner: &JobId) -> Self {
        Self::new(
            Code::Conflict,
            format!("the unique key of job {id:?} is in use by job {owner:?}"),
            format!(
                "wait until that job has finished, or cancel it with `windlass job cancel {queue} {}`",
                shell_quote(owner)
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
            // Some errors include their cause in the message.
            if !message.contains(&why) {
                message = format!("{message}: {why}");
            }
            cause = error.source();
        }
        Self::new(error.kind().into(), message, error.help())
    }
}

/// Quotes an id for a shell, so that a command in help can be pasted safely.
fn shell_quote(id: &JobId) -> String {
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
    fn an_id_in_a_command_to_paste_is_quoted() {
        for (id, pasted) in [
            ("letter-1", "letter-1"),
            ("$(true) 2", "'$(true) 2'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(shell_quote(&JobId::new(id).unwrap()), pasted);
        }
    }

    #[test]
    fn an_error_includes_its_causes() {
        let error = CoreError::new(ErrorKind::StoreBusy, "the store is held", "try again")
            .caused_by(std::io::Error::other("locked"));

        let error = Error::from(&error);

        assert_eq!(
            serde_json::to_string(&ErrorReply { error }).unwrap(),
            r#"{"error":{"code":"store_busy","message":"the store is held: locked","help":"try again"}}"#
        );
    }
}
