//! Adds jobs to the backlog.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use windlass_core::{Due, JobId, Result};
use windlass_redis_link::raw_client::RawScript;

use super::{DelayedQueue, script, text};

static SUBMIT: LazyLock<RawScript> = script!("submit.lua");

impl DelayedQueue {
    /// Submits a job and returns its id, a lower-case ULID as in the original.
    ///
    /// The original stores whole seconds: the due time is rounded up. One in the past is due
    /// immediately.
    pub async fn submit(&self, payload: impl Into<Bytes>, due: Due) -> Result<String> {
        let id = JobId::generate().to_string();
        let (base, seconds) = match due {
            Due::Now => ("after", "0".to_owned()),
            Due::After(delay) => ("after", delay.as_secs_f64().to_string()),
            Due::At(at) => ("at", at.as_ms().div_ceil(1000).to_string()),
        };
        let args = vec![text(&id), payload.into(), text(base), Bytes::from(seconds)];
        self.run(&SUBMIT, args).await?;
        Ok(id)
    }
}

/// Returns a duration as an argument in milliseconds.
pub(super) fn millis(duration: Duration) -> Bytes {
    Bytes::from(duration.as_millis().to_string())
}
