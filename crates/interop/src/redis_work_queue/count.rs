//! How much there is.

use std::sync::LazyLock;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::Result;
use windlass_store_redis::guest::GuestScript;

use super::{WorkQueue, script};
use crate::reply::{list, number};

static COUNTS: LazyLock<GuestScript> = script!("counts.lua");

/// Both lengths at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Items that wait.
    pub queue: u64,
    /// Items in somebody's hands, and abandoned ones that no clean has brought back yet.
    pub processing: u64,
}

impl WorkQueue {
    /// How many items wait, without those in processing.
    pub async fn queue_len(&self) -> Result<u64> {
        self.length(&self.keys.queue).await
    }

    /// How many items are in somebody's hands, with the abandoned ones that no clean has brought
    /// back yet.
    pub async fn processing(&self) -> Result<u64> {
        self.length(&self.keys.processing).await
    }

    /// Both lengths at one moment.
    pub async fn counts(&self) -> Result<Counts> {
        let mut counts = list(self.run_repeating(&COUNTS, Vec::new()).await?)?.into_iter();
        let mut next = || length(&counts.next().unwrap_or(Value::Nil));
        Ok(Counts {
            queue: next()?,
            processing: next()?,
        })
    }

    async fn length(&self, list: &Bytes) -> Result<u64> {
        let mut cmd = Cmd::new();
        let list: &[u8] = list;
        cmd.arg("LLEN").arg(list);
        length(&self.server.guest.ask(&cmd).await?)
    }
}

fn length(value: &Value) -> Result<u64> {
    // A length is never below zero.
    Ok(u64::try_from(number(value)?).unwrap_or(0))
}
