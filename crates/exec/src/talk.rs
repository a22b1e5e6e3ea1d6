//! Where a worker's remarks go: warnings, and the log lines of its jobs.

use std::sync::Arc;

/// Says one line to whoever watches the worker. It may be called from any thread.
pub type Talk = Arc<dyn Fn(&str) + Send + Sync>;

/// The same to nobody.
pub fn silent() -> Talk {
    Arc::new(|_| {})
}
