//! Light clean: returns items abandoned by workers and cleaners. Shares its code with the deep clean.
//!
//! A clean reads the lists in pages and collects the ids that may be in the wrong list. A script then
//! checks and repairs them, page by page, on a consistent state. So concurrent cleaners, leases and
//! completes neither duplicate nor lose an item.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

use super::{WorkQueue, script};
use crate::reply::{bytes, list, number};

static READ: LazyLock<RawScript> = script!("read.lua");
static REPAIR: LazyLock<RawScript> = script!("repair.lua");

/// Number of ids per read.
const READ_PAGE: u64 = 1_000;

/// Number of ids per repair call. On long lists the script stops earlier.
const REPAIR_PAGE: usize = 100;

/// What a clean did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkQueueCleanReport {
    /// Items returned to the back of the queue.
    pub requeued: u64,
    /// Leased items moved back to processing.
    pub held: u64,
    /// Ids removed from a list because they had no data or were duplicates.
    pub removed: u64,
    /// Items in the wrong list that changed during the clean. The next clean checks them again.
    pub pending: u64,
}

/// An id in a list, with what exists for it.
pub(super) struct ListEntry {
    pub(super) id: Bytes,
    pub(super) has_data: bool,
    pub(super) is_leased: bool,
}

impl WorkQueue {
    /// Returns items in processing whose lease has expired to the back of the queue, and removes ids
    /// without data. In layout 0.1 it also returns what dead cleaners left behind.
    ///
    /// An original client may be just taking an item that has no lease. Such items are checked twice,
    /// with the grace period in between, so a cleanup that returns something takes at least that long
    /// ([`WorkQueue::with_grace`]).
    pub async fn light_clean(&self) -> Result<WorkQueueCleanReport> {
        let suspects = self.suspects().await?;
        self.repair(suspects).await
    }

    /// Returns the ids that a light clean checks: in processing without a lease or data, and all in
    /// cleaning.
    pub(super) async fn suspects(&self) -> Result<Vec<Bytes>> {
        let mut suspects = Vec::new();
        let is_suspect = |entry: &ListEntry| !entry.is_leased || !entry.has_data;
        self.read("processing", |entry| {
            if is_suspect(&entry) {
                suspects.push(entry.id);
            }
        })
        .await?;
        if self.keys.cleaning.is_some() {
            self.read("cleaning", |entry| suspects.push(entry.id))
                .await?;
        }
        suspects.sort_unstable();
        suspects.dedup();
        Ok(suspects)
    }

    /// Reads a list from its right end. Ids may be missed or seen twice if the list changes meanwhile.
    pub(super) async fn read(
        &self,
        list_name: &str,
        mut each: impl FnMut(ListEntry),
    ) -> Result<()> {
        let mut skip = 0;
        loop {
            let args = [
                list_name.to_owned(),
                skip.to_string(),
                READ_PAGE.to_string(),
            ];
            let args = args.map(Bytes::from).to_vec();
            let page = list(self.run_repeating(&READ, args).await?)?;
            let count = page.len() / 3;
            let mut parts = page.into_iter();
            while let (Some(id), Some(data), Some(lease)) =
                (parts.next(), parts.next(), parts.next())
            {
                each(ListEntry {
                    id: bytes(id)?,
                    has_data: number(&data)? == 1,
                    is_leased: number(&lease)? == 1,
                });
            }
            skip += READ_PAGE;
            if count < usize::try_from(READ_PAGE).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    /// Moves these ids to the correct list: immediately if that is certain, else after the grace period.
    pub(super) async fn repair(&self, ids: Vec<Bytes>) -> Result<WorkQueueCleanReport> {
        let mut report = WorkQueueCleanReport::default();
        let (pending, wait) = self.repair_pages(ids, &mut report).await?;
        if pending.is_empty() {
            return Ok(report);
        }
        tokio::time::sleep(wait).await;
        let (pending, _) = self.repair_pages(pending, &mut report).await?;
        report.pending = u64::try_from(pending.len()).unwrap_or(u64::MAX);
        Ok(report)
    }

    /// Returns the ids that cannot be moved yet, and how long to wait for them.
    async fn repair_pages(
        &self,
        mut ids: Vec<Bytes>,
        report: &mut WorkQueueCleanReport,
    ) -> Result<(Vec<Bytes>, Duration)> {
        let grace = Bytes::from(self.grace.as_millis().to_string());
        let (mut pending, mut wait) = (Vec::new(), 0);
        while !ids.is_empty() {
            let page = &ids[..ids.len().min(REPAIR_PAGE)];
            let args = std::iter::once(&grace).chain(page).cloned().collect();
            // A retry finds everything repaired; only the counts would be too low.
            let mut reply = list(self.run_repeating(&REPAIR, args).await?)?.into_iter();
            let mut next = || count(&reply.next().unwrap_or(Value::Nil));
            let repaired = usize::try_from(next()?).unwrap_or(usize::MAX);
            report.requeued += next()?;
            report.held += next()?;
            report.removed += next()?;
            wait = next()?.max(wait);
            for id in reply {
                pending.push(bytes(id)?);
            }
            // Each call handles at least one id, so this terminates.
            ids.drain(..repaired.clamp(1, ids.len()));
        }
        Ok((pending, Duration::from_millis(wait)))
    }
}

fn count(value: &Value) -> Result<u64> {
    Ok(u64::try_from(number(value)?).unwrap_or(0))
}
