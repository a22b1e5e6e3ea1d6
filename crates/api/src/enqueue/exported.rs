//! Parses an exported job as a new one, so that an export can be imported unchanged.

use serde::de::IgnoredAny;
use windlass_core::{Error, JobState, Result};

use super::EnqueueRequest;
use crate::fields::Fields;

/// Every exported job has these fields; a new job never has the second.
const MARKER_FIELDS: [&str; 2] = ["id", "created_at"];

/// Fields that the new job does not inherit.
const IGNORED_FIELDS: [&str; 15] = [
    "queue",
    "attempt",
    "expiries",
    "progress",
    "progress_message",
    "created_at",
    "started_at",
    "finished_at",
    "result",
    "result_base64",
    "error",
    "reason",
    "worker",
    "lease_until",
    "schedule",
];

/// Parses an exported job as a new one. Returns `None` if the text is not an exported job. Rejects
/// finished and cancelled jobs, which would run again, and pending ones: a new job waits for no other.
pub(super) fn read(text: &str) -> Option<Result<EnqueueRequest>> {
    let fields = Fields::parse(text).ok()?;
    let is_exported = MARKER_FIELDS.iter().all(|name| fields.has(name));
    is_exported.then(|| into_new(fields)?.read())
}

fn into_new(mut fields: Fields) -> Result<Fields> {
    if let Some(state) = fields.take::<String>("state")? {
        check_state(&state)?;
    }
    if fields.take::<bool>("cancel_requested")? == Some(true) {
        let why = "the exported job was asked to stop";
        let help = "skip it, or remove its field cancel_requested to run it again";
        return Err(Error::invalid("job", why, help));
    }
    for name in IGNORED_FIELDS {
        fields.take::<IgnoredAny>(name)?;
    }
    // Times are absolute; a time in the past means now.
    for (exported, field) in [("due_at", "at"), ("expires_at", "expires")] {
        if let Some(time) = fields.take::<String>(exported)? {
            fields.put(field, &time)?;
        }
    }
    for (exported, field) in [("timeout_ms", "timeout"), ("unique_for_ms", "unique_for")] {
        if let Some(ms) = fields.take::<u64>(exported)? {
            fields.put(field, &format!("{ms}ms"))?;
        }
    }
    Ok(fields)
}

fn check_state(text: &str) -> Result<()> {
    match JobState::from_text(text) {
        Some(state) if state.is_final() => {
            let why = format!("the exported job is finished ({state})");
            let help = "skip it, or remove its field state to run it again";
            Err(Error::invalid("job", why, help))
        }
        Some(JobState::Pending) => {
            let why = "the exported job waits for the previous job of its schedule";
            let help = "let that job end and export again, or remove the field state to import \
                this one without waiting";
            Err(Error::invalid("job", why, help))
        }
        Some(_) => Ok(()),
        None => {
            let expected = ["scheduled", "ready", "running"];
            Err(Error::unknown("state", text, &expected))
        }
    }
}
