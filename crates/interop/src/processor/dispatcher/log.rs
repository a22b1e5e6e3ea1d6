//! The log of the processor: one JSON object per line, in the format of the Processor Job Queue.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use windlass_api::timestamp;
use windlass_core::Timestamp;

use super::Processor;
use super::reply::json;

/// Receives log lines. It should not block.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(&str) + Send + Sync>);

impl Log {
    /// Creates a log that passes each line to `write`.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    /// Creates a log that discards all lines.
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
    /// Logs an informational message.
    pub(super) fn info(&self, message: &str) {
        self.log("info", message);
    }

    /// Logs an error that was handled.
    pub(super) fn warn(&self, message: &str) {
        self.log("warning", message);
    }

    /// Logs an error that needs a retry.
    pub(super) fn error(&self, message: &str) {
        self.log("error", message);
    }

    fn log(&self, log_level: &'static str, log_message: &str) {
        let entry = Entry {
            log_level,
            created_at: self.now_text(),
            log_message,
        };
        (self.log.0)(&json(&entry));
    }

    /// Returns the current time as text.
    pub(super) fn now_text(&self) -> String {
        timestamp::format(Timestamp::from_ms(self.options.clock.now_us() / 1000))
    }
}
