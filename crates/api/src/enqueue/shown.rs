//! A job as doors show it, read as a new one: what was exported can be imported as it is.

use serde::de::IgnoredAny;
use windlass_core::{Error, JobState, Result};

use super::EnqueueRequest;
use crate::fields::Fields;

/// Every shown job has these, and no new one has the second.
const SIGNS: [&str; 2] = ["id", "created_at"];

/// What a shown job says of its life so far, which the new one begins again.
const PAST: [&str; 14] = [
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
    "cancel_requested",
];

/// Reads a shown job as a new one; nothing where the text is none. One that has ended is refused:
/// to store it is to run it again, and whoever moves jobs does not expect that.
pub(super) fn read(text: &str) -> Option<Result<EnqueueRequest>> {
    let fields = Fields::parse(text).ok()?;
    let is_shown = SIGNS.iter().all(|name| fields.has(name));
    is_shown.then(|| without_past(fields)?.read())
}

fn without_past(mut fields: Fields) -> Result<Fields> {
    if let Some(word) = fields.take::<String>("state")? {
        check_state(&word)?;
    }
    for name in PAST {
        fields.take::<IgnoredAny>(name)?;
    }
    // A moment stays the same moment; one that is past means now.
    for (shown, asked) in [("due_at", "at"), ("expires_at", "expires")] {
        if let Some(moment) = fields.take::<String>(shown)? {
            fields.put(asked, &moment)?;
        }
    }
    if let Some(ms) = fields.take::<u64>("timeout_ms")? {
        fields.put("timeout", &format!("{ms}ms"))?;
    }
    Ok(fields)
}

fn check_state(word: &str) -> Result<()> {
    match JobState::from_text(word) {
        Some(state) if state.is_final() => {
            let why = format!("the exported job is finished ({state})");
            let help = "skip it, or remove its field state to run it again";
            Err(Error::invalid("job", why, help))
        }
        Some(_) => Ok(()),
        None => {
            let expected = ["scheduled", "ready", "running"];
            Err(Error::unknown("state", word, &expected))
        }
    }
}
