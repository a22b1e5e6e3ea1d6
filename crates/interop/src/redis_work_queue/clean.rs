//! Bringing back what workers and cleaners left behind: the light clean, and what both share.
//!
//! A clean reads the lists in pages and picks the ids that may be out of place. Whether they are is
//! then decided, page by page, by one script that sees everything at one moment: so two cleaners, a
//! lease or a complete in between double nothing and lose nothing.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_store_redis::guest::GuestScript;

use super::{WorkQueue, script};
use crate::reply::{bytes, list, number};

static LOOK: LazyLock<GuestScript> = script!("look.lua");
static SETTLE: LazyLock<GuestScript> = script!("settle.lua");

/// How many ids are read at once.
const READ_PAGE: u64 = 1_000;

/// How many ids are settled in one step; on long lists the step ends itself earlier.
const SETTLE_PAGE: usize = 100;

/// What a clean did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Items put back into the queue, at its back.
    pub requeued: u64,
    /// Items with a lease put back into processing.
    pub held: u64,
    /// Ids removed from a list: of no item, or one too many.
    pub removed: u64,
    /// Items that were out of place and changed while they were looked at: the next clean sees.
    pub pending: u64,
}

/// An id in a list.
pub(super) struct Seen {
    pub(super) id: Bytes,
    pub(super) has_data: bool,
    pub(super) is_leased: bool,
}

impl WorkQueue {
    /// Brings back items in processing whose lease is over, to the back of the queue, and removes
    /// ids of no item. In the layout 0.1, also what dead cleaners left behind.
    ///
    /// An item without a lease may be one that a client of the original is just taking. So it is
    /// looked at twice, with the grace between: when there is something to bring back, this takes
    /// as long ([`WorkQueue::with_grace`]).
    pub async fn light_clean(&self) -> Result<Cleaned> {
        let suspects = self.suspects().await?;
        self.settle(suspects).await
    }

    /// Ids that a light clean looks at: in processing with no lease or no data, and all in cleaning.
    pub(super) async fn suspects(&self) -> Result<Vec<Bytes>> {
        let mut suspects = Vec::new();
        let is_odd = |seen: &Seen| !seen.is_leased || !seen.has_data;
        self.read("processing", |seen| {
            if is_odd(&seen) {
                suspects.push(seen.id);
            }
        })
        .await?;
        if self.keys.cleaning.is_some() {
            self.read("cleaning", |seen| suspects.push(seen.id)).await?;
        }
        suspects.sort_unstable();
        suspects.dedup();
        Ok(suspects)
    }

    /// Reads a list from its right end. Where others change it meanwhile, ids may be missed or seen
    /// twice.
    pub(super) async fn read(&self, list_name: &str, mut each: impl FnMut(Seen)) -> Result<()> {
        let mut skip = 0;
        loop {
            let words = [
                list_name.to_owned(),
                skip.to_string(),
                READ_PAGE.to_string(),
            ];
            let args = words.map(Bytes::from).to_vec();
            let page = list(self.run_repeating(&LOOK, args).await?)?;
            let count = page.len() / 3;
            let mut parts = page.into_iter();
            while let (Some(id), Some(data), Some(lease)) =
                (parts.next(), parts.next(), parts.next())
            {
                each(Seen {
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

    /// Puts these ids where they belong: at once where that is sure, else after the grace.
    pub(super) async fn settle(&self, ids: Vec<Bytes>) -> Result<Cleaned> {
        let mut cleaned = Cleaned::default();
        let (pending, wait) = self.settle_pages(ids, &mut cleaned).await?;
        if pending.is_empty() {
            return Ok(cleaned);
        }
        tokio::time::sleep(wait).await;
        let (pending, _) = self.settle_pages(pending, &mut cleaned).await?;
        cleaned.pending = u64::try_from(pending.len()).unwrap_or(u64::MAX);
        Ok(cleaned)
    }

    /// What is left alone as yet, and until when.
    async fn settle_pages(
        &self,
        mut ids: Vec<Bytes>,
        cleaned: &mut Cleaned,
    ) -> Result<(Vec<Bytes>, Duration)> {
        let grace = Bytes::from(self.grace.as_millis().to_string());
        let (mut pending, mut wait) = (Vec::new(), 0);
        while !ids.is_empty() {
            let page = &ids[..ids.len().min(SETTLE_PAGE)];
            let args = std::iter::once(&grace).chain(page).cloned().collect();
            // Repeated, it finds everything in its place; only the figures would be short.
            let mut reply = list(self.run_repeating(&SETTLE, args).await?)?.into_iter();
            let mut next = || count(&reply.next().unwrap_or(Value::Nil));
            let settled = usize::try_from(next()?).unwrap_or(usize::MAX);
            cleaned.requeued += next()?;
            cleaned.held += next()?;
            cleaned.removed += next()?;
            wait = next()?.max(wait);
            for id in reply {
                pending.push(bytes(id)?);
            }
            // A step settles one at least, so this ends.
            ids.drain(..settled.clamp(1, ids.len()));
        }
        Ok((pending, Duration::from_millis(wait)))
    }
}

fn count(value: &Value) -> Result<u64> {
    Ok(u64::try_from(number(value)?).unwrap_or(0))
}
