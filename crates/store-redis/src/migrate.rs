//! Migrates a store from schema 1: queue by queue, partition by partition, page by page.
//!
//! Each page is one script call. A queue refuses all other calls from its first page to its last;
//! other queues do not notice. The store's own version is written at the end, so a store of which
//! only some queues are migrated cannot be opened. A migration that was stopped at any point is
//! finished by another one, and two at the same time do not disturb each other.

use windlass_core::setting::PARTITIONS_MAX;
use windlass_core::{QueueName, Result, Store};
use windlass_redis_link::reply::Reply;

use crate::keys::Keys;
use crate::open::{Options, RedisStore};
use crate::partition::text_arg;
use crate::schema;

/// What a migration has done so far in one partition of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedPage {
    /// The queue.
    pub queue: QueueName,
    /// The partition, from 0.
    pub partition: u32,
    /// The jobs converted so far.
    pub jobs: u64,
    /// Whether all of the partition is converted.
    pub is_done: bool,
}

/// One page as the script replies to it.
struct Page {
    /// Empty at the end.
    next: String,
    jobs: u64,
    /// 0 if the partition does not exist.
    partitions: u32,
    /// Whether there was anything to convert.
    is_older: bool,
}

impl RedisStore {
    /// Migrates the store at `url` to the current schema and calls `on_page` after each page that had
    /// something to convert; its error stops the migration.
    pub async fn migrate(
        url: &str,
        mut on_page: impl FnMut(&MigratedPage) -> Result<()>,
    ) -> Result<()> {
        let store = Box::pin(Self::connect(url, Options::default())).await?;
        let before = schema::read(store.link(), &store.inner.registry).await?;
        for queue in store.queues().await? {
            let mut count = 0;
            // Growing creates a partition before the others count it: continue until one is missing.
            for partition in 0..PARTITIONS_MAX {
                let found = store
                    .migrate_partition(&queue, partition, &mut on_page)
                    .await?;
                count = count.max(found);
                if found == 0 && partition >= count {
                    break;
                }
            }
        }
        if before.is_some() {
            schema::write(store.link(), &store.inner.registry, &[]).await?;
        }
        Ok(())
    }

    /// Returns the number of partitions as this one knows it, 0 if it does not exist.
    async fn migrate_partition(
        &self,
        queue: &QueueName,
        partition: u32,
        on_page: &mut impl FnMut(&MigratedPage) -> Result<()>,
    ) -> Result<u32> {
        let keys = Keys::of_queue(&self.link().address().prefix, queue, partition);
        let mut partitions = 0;
        for part in ["running", "jobs"] {
            let mut next = "0".to_owned();
            while !next.is_empty() {
                let page = self.migrate_page(&keys, part, &next).await?;
                (next, partitions) = (page.next, page.partitions);
                if page.is_older {
                    on_page(&MigratedPage {
                        queue: queue.clone(),
                        partition,
                        jobs: page.jobs,
                        is_done: part == "jobs" && next.is_empty(),
                    })?;
                }
            }
        }
        Ok(partitions)
    }

    async fn migrate_page(&self, keys: &Keys, part: &str, from: &str) -> Result<Page> {
        let script = &self.inner.shared.scripts.migrate;
        let args = vec![text_arg(part), text_arg(from)];
        let call = self.inner.shared.call(keys, script, args);
        let mut reply = Reply::list(self.link().run_idempotent(&call).await?)?;
        Ok(Page {
            next: reply.text()?,
            jobs: reply.count()?,
            partitions: u32::try_from(reply.count()?).unwrap_or(u32::MAX),
            is_older: reply.count()? == 1,
        })
    }
}
