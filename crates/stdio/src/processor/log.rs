//! What the processor says of itself: one JSON object per line, in the envelope of the older system.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use windlass_api::timestamp;
use windlass_core::Timestamp;

use super::Processor;
use crate::reply::json;

/// Takes log lines; it should not wait.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    /// Hands each line to `write`.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    /// Says nothing.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

#[derive(Serialize)]
struct Entry<'a> {
    log_level: &'static str,
    created_at: String,
    log_message: &'a str,
}

impl Processor {
    /// Something a person may want to know.
    pub(super) fn inform(&self, message: &str) {
        self.say("info", message);
    }

    /// Something went wrong and was dealt with.
    pub(super) fn warn(&self, message: &str) {
        self.say("warning", message);
    }

    /// Something went wrong and is left undone for now.
    pub(super) fn complain(&self, message: &str) {
        self.say("error", message);
    }

    fn say(&self, log_level: &'static str, log_message: &str) {
        let entry = Entry {
            log_level,
            created_at: self.now_text(),
            log_message,
        };
        (self.log.0)(&json(&entry));
    }

    /// The present moment, for people.
    pub(super) fn now_text(&self) -> String {
        timestamp::format(Timestamp::from_ms(self.options.clock.now_us() / 1000))
    }
}
