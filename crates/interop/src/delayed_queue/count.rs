//! Counts jobs.

use std::sync::LazyLock;

use redis::Value;
use serde::Serialize;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{DelayedQueue, script};
use crate::reply::{count, list};

static COUNTS: LazyLock<RawScript> = script!("counts.lua");

/// The number of jobs by state, read atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DelayedCounts {
    /// Jobs in the backlog, including due ones that have not been moved yet.
    pub delayed: u64,
    /// Due jobs that wait for a worker.
    pub due: u64,
    /// Jobs that workers have, including dead workers.
    pub unacked: u64,
}

impl DelayedQueue {
    /// Counts the jobs in each state.
    pub async fn counts(&self) -> Result<DelayedCounts> {
        let reply = list(self.run_repeating(&COUNTS, Vec::new()).await?)?;
        let mut parts = reply.iter();
        let mut next = || count(parts.next().unwrap_or(&Value::Nil));
        Ok(DelayedCounts {
            delayed: next()?,
            due: next()?,
            unacked: next()?,
        })
    }
}
