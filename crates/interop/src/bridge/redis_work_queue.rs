//! The bridge as a worker of redis-work-queue.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::Result;

use super::origin::{Origin, Taken, Took};
use crate::Server;
use crate::redis_work_queue::{Layout, WorkQueue};

/// How long an item is ours: far longer than it takes to carry one over.
const LEASE: Duration = Duration::from_secs(30);

/// Leases items.
#[derive(Debug)]
pub(super) struct Leaser {
    queue: WorkQueue,
}

impl Leaser {
    pub(super) fn new(server: &Server, prefix: &str, layout: Layout) -> Self {
        Self {
            queue: WorkQueue::new(server.clone(), prefix, layout),
        }
    }
}

#[async_trait]
impl Origin for Leaser {
    async fn take(&mut self, wait: Duration) -> Result<Took> {
        let item = self.queue.lease(LEASE, Some(wait)).await?;
        Ok(item.map_or(Took::Nothing, |item| {
            Took::One(Taken {
                id: item.id,
                data: item.data,
            })
        }))
    }

    /// Once the lease is over another item may have the id, and completing asks for no lease.
    async fn holds(&mut self, taken: &Taken) -> Result<bool> {
        self.queue.renew(&taken.id, LEASE).await
    }

    async fn done(&mut self, taken: &Taken) -> Result<()> {
        self.queue.complete(&taken.id).await.map(drop)
    }

    async fn clean(&mut self) -> Result<()> {
        self.queue.light_clean().await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
