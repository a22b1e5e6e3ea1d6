//! The deep clean: everything that has data is looked for, wherever it is.

use std::collections::HashSet;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::Result;

use super::{Cleaned, WorkQueue};
use crate::reply::{bytes, list};

/// How many keys a server passes over at once.
const SCAN_PAGE: u64 = 1_000;

/// Where ids were when they were read.
#[derive(Default)]
struct Places {
    queue: HashSet<Bytes>,
    processing: HashSet<Bytes>,
    /// Ids that may be out of place.
    suspects: HashSet<Bytes>,
}

impl WorkQueue {
    /// Does what a light clean does, and brings back items that are in no list, removes ids of no
    /// item from the queue, and leaves each item in one place.
    ///
    /// It reads all keys of the database in pages, and keeps the ids of both lists in memory.
    pub async fn deep_clean(&self) -> Result<Cleaned> {
        let mut places = Places::default();
        self.read("queue", |seen| {
            let is_odd = !seen.has_data || seen.is_leased;
            if places.queue.replace(seen.id.clone()).is_some() || is_odd {
                places.suspects.insert(seen.id);
            }
        })
        .await?;
        self.read("processing", |seen| {
            if places.queue.contains(&seen.id) || !places.processing.insert(seen.id.clone()) {
                places.suspects.insert(seen.id);
            }
        })
        .await?;
        self.find_strays(&mut places).await?;
        places.suspects.extend(self.suspects().await?);
        self.settle(places.suspects.into_iter().collect()).await
    }

    /// Items with data that were in no list.
    async fn find_strays(&self, places: &mut Places) -> Result<()> {
        let pattern = self.keys.items();
        let mut cursor = Bytes::from_static(b"0");
        loop {
            let mut cmd = Cmd::new();
            cmd.arg("SCAN").arg(&cursor[..]).arg("MATCH").arg(&pattern);
            cmd.arg("COUNT").arg(SCAN_PAGE);
            let mut reply = list(self.server.guest.ask(&cmd).await?)?.into_iter();
            cursor = bytes(reply.next().unwrap_or(Value::Nil))?;
            for key in list(reply.next().unwrap_or(Value::Nil))? {
                let id = bytes(key)?.slice(self.keys.item.len()..);
                if !places.queue.contains(&id) && !places.processing.contains(&id) {
                    places.suspects.insert(id);
                }
            }
            if cursor == "0" {
                return Ok(());
            }
        }
    }
}
