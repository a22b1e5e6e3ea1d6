//! Deep clean: finds every item that has data, in whichever list it is.

use std::collections::HashSet;

use bytes::Bytes;
use redis::Cmd;
use windlass_core::Result;

use super::{WorkQueue, WorkQueueCleanReport};
use crate::reply::bytes;
use crate::scan::prefix_pattern;

/// `COUNT` of each `SCAN`.
const SCAN_PAGE: u64 = 1_000;

/// The ids found in each list.
#[derive(Default)]
struct ListedIds {
    queue: HashSet<Bytes>,
    processing: HashSet<Bytes>,
    /// Ids that may be in the wrong list.
    suspects: HashSet<Bytes>,
}

impl WorkQueue {
    /// Does a light clean and also returns items that are in no list, removes ids without data from
    /// the queue, and leaves each item in exactly one list.
    ///
    /// Scans all keys of the database in pages, and keeps the ids of both lists in memory.
    pub async fn deep_clean(&self) -> Result<WorkQueueCleanReport> {
        let mut listed = ListedIds::default();
        self.read("queue", |entry| {
            let is_suspect = !entry.has_data || entry.is_leased;
            if listed.queue.replace(entry.id.clone()).is_some() || is_suspect {
                listed.suspects.insert(entry.id);
            }
        })
        .await?;
        self.read("processing", |entry| {
            if listed.queue.contains(&entry.id) || !listed.processing.insert(entry.id.clone()) {
                listed.suspects.insert(entry.id);
            }
        })
        .await?;
        self.find_unlisted(&mut listed).await?;
        listed.suspects.extend(self.suspects().await?);
        self.repair(listed.suspects.into_iter().collect()).await
    }

    /// Adds items that have data but are in no list.
    async fn find_unlisted(&self, listed: &mut ListedIds) -> Result<()> {
        let pattern = prefix_pattern(&self.keys.item);
        let page = |cursor: &str| {
            let mut cmd = Cmd::new();
            cmd.arg("SCAN").arg(cursor).arg("MATCH").arg(&pattern);
            cmd.arg("COUNT").arg(SCAN_PAGE);
            cmd
        };
        let check = |key| {
            let id = bytes(key)?.slice(self.keys.item.len()..);
            if !listed.queue.contains(&id) && !listed.processing.contains(&id) {
                listed.suspects.insert(id);
            }
            Ok(())
        };
        self.server.scan(page, check).await
    }
}
