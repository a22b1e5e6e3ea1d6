//! Returns jobs of dead workers.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use serde::Serialize;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::submit::millis;
use super::{DelayedQueue, script};
use crate::reply::{count, list};

static RESCUE: LazyLock<RawScript> = script!("rescue.lua");

/// Ids per script call.
const PAGE: u64 = 500;

/// What a rescue found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct RescueReport {
    /// Jobs returned to the front of the line, in their old order.
    pub returned: u64,
    /// Ids removed because they have no job.
    pub removed: u64,
    /// Jobs left to their workers.
    pub unacked: u64,
    /// How long until the last of those is too old, if its worker does not renew it.
    #[serde(skip)]
    pub wait: Duration,
}

impl DelayedQueue {
    /// Returns jobs that have been unacknowledged for too long. That time is counted from the first
    /// call that sees a job, by the clock of the server: call this repeatedly.
    ///
    /// Any number of processes may call this.
    pub async fn rescue(&self) -> Result<RescueReport> {
        let mut report = RescueReport::default();
        loop {
            let args = vec![
                millis(self.unacked_for),
                Bytes::from(report.unacked.to_string()),
                Bytes::from(PAGE.to_string()),
            ];
            // A retry finds everything returned; only the counts would be too low.
            let reply = list(self.run_repeating(&RESCUE, args).await?)?;
            let mut parts = reply.iter();
            let mut next = || count(parts.next().unwrap_or(&Value::Nil));
            let read = next()?;
            report.unacked += next()?;
            report.returned += next()?;
            report.removed += next()?;
            report.wait = report.wait.max(Duration::from_millis(next()?));
            if read < PAGE {
                return Ok(report);
            }
        }
    }

    /// Like [`DelayedQueue::rescue`], but waits until every job that is unacknowledged now has been
    /// acknowledged, renewed or returned.
    pub async fn rescue_all(&self) -> Result<RescueReport> {
        let first = self.rescue().await?;
        if first.unacked == 0 {
            return Ok(first);
        }
        tokio::time::sleep(first.wait).await;
        let mut report = self.rescue().await?;
        report.returned += first.returned;
        report.removed += first.removed;
        Ok(report)
    }
}
