//! Counts items.

use std::sync::LazyLock;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{WorkQueue, script};
use crate::reply::{count, list};

static COUNTS: LazyLock<RawScript> = script!("counts.lua");

/// The lengths of both lists, read atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Waiting items.
    pub queue: u64,
    /// Items held by workers, including abandoned ones that no clean has returned yet.
    pub processing: u64,
}

impl WorkQueue {
    /// Returns the number of waiting items, without those in processing.
    pub async fn queue_len(&self) -> Result<u64> {
        self.length(&self.keys.queue).await
    }

    /// Returns the number of items held by workers, including abandoned ones that no clean has
    /// returned yet.
    pub async fn processing(&self) -> Result<u64> {
        self.length(&self.keys.processing).await
    }

    /// Returns both lengths, read atomically.
    pub async fn counts(&self) -> Result<Counts> {
        let mut counts = list(self.run_repeating(&COUNTS, Vec::new()).await?)?.into_iter();
        let mut next = || count(&counts.next().unwrap_or(Value::Nil));
        Ok(Counts {
            queue: next()?,
            processing: next()?,
        })
    }

    async fn length(&self, list: &Bytes) -> Result<u64> {
        let mut cmd = Cmd::new();
        let list: &[u8] = list;
        cmd.arg("LLEN").arg(list);
        count(&self.server.client.ask(&cmd).await?)
    }
}
