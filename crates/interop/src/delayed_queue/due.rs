//! Moves due jobs to the line.

use std::sync::LazyLock;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{DelayedQueue, script};
use crate::reply::{count, list};

static DUE: LazyLock<RawScript> = script!("due.lua");

/// Jobs per script call, as in the original.
const PAGE: u64 = 500;

impl DelayedQueue {
    /// Moves all due jobs from the backlog to the back of the line, the earliest first, by the clock of
    /// the server. Returns their number.
    ///
    /// Any number of processes may call this, also next to an original leader.
    pub async fn move_due(&self) -> Result<u64> {
        let mut total = 0;
        loop {
            let args = vec![Bytes::from(PAGE.to_string())];
            // A retry moves the next page; only the count would be too low.
            let reply = list(self.run_repeating(&DUE, args).await?)?;
            let mut parts = reply.iter();
            let mut next = || count(parts.next().unwrap_or(&Value::Nil));
            let read = next()?;
            total += next()?;
            if read < PAGE {
                return Ok(total);
            }
        }
    }
}
