//! Where log lines go: warnings of the worker, and the output of its jobs.

use std::sync::Arc;

/// Receives one log line per call. May be called from any thread.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns a sink that discards all lines.
pub fn discard() -> LogSink {
    Arc::new(|_| {})
}
