//! The bridge as a redis-work-queue worker.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::Result;

use super::source::{SourceItem, SourceWorker, TakeResult};
use crate::InteropServer;
use crate::redis_work_queue::{WorkQueue, WorkQueueLayout};

/// Lease of an item: far longer than it takes to migrate one.
const LEASE: Duration = Duration::from_secs(30);

/// Leases items from one queue.
#[derive(Debug)]
pub(super) struct WorkQueueSource {
    queue: WorkQueue,
}

impl WorkQueueSource {
    pub(super) fn new(server: &InteropServer, prefix: &str, layout: WorkQueueLayout) -> Self {
        Self {
            queue: WorkQueue::new(server.clone(), prefix, layout),
        }
    }
}

#[async_trait]
impl SourceWorker for WorkQueueSource {
    async fn take(&mut self, wait: Duration) -> Result<TakeResult> {
        let item = self.queue.lease(LEASE, Some(wait)).await?;
        Ok(item.map_or(TakeResult::Empty, |item| {
            TakeResult::Item(SourceItem::new(item.id, item.data))
        }))
    }

    // `complete` needs no lease, and once the lease has expired another item may have the same id.
    async fn holds(&mut self, item: &SourceItem) -> Result<bool> {
        self.queue.renew(&item.id, LEASE).await
    }

    async fn finish(&mut self, item: &SourceItem) -> Result<()> {
        self.queue.complete(&item.id).await.map(drop)
    }

    async fn clean(&mut self) -> Result<()> {
        self.queue.light_clean().await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
