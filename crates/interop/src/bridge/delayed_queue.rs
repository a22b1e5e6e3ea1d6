//! The bridge as a worker of the Delayed Queue App. It also takes jobs that are not due yet.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{Due, Result};

use super::source::{SourceItem, SourceWorker, TakeResult};
use crate::delayed_queue::{AckStatus, DelayedJob, DelayedQueue, ReturnTo, TakeFrom};

/// Takes jobs from the line, then from the backlog.
#[derive(Debug)]
pub(super) struct DelayedQueueSource {
    queue: DelayedQueue,
    /// Taken and not finished yet, by id.
    held: HashMap<String, DelayedJob>,
    /// A job may have been taken without a reply, by this bridge or one that was killed.
    may_have_lost: bool,
}

impl DelayedQueueSource {
    pub(super) fn new(queue: DelayedQueue) -> Self {
        Self {
            queue,
            held: HashMap::new(),
            may_have_lost: true,
        }
    }
}

#[async_trait]
impl SourceWorker for DelayedQueueSource {
    async fn take(&mut self, wait: Duration) -> Result<TakeResult> {
        if self.may_have_lost {
            self.clean().await?;
        }
        // Until a reply arrives: this call may fail or be cancelled.
        self.may_have_lost = true;
        let taken = self.queue.take_from(TakeFrom::Any, wait).await?;
        self.may_have_lost = false;
        let Some(job) = taken else {
            return Ok(TakeResult::Empty);
        };
        let mut item = SourceItem::new(job.id.clone(), job.payload.clone());
        item.due = job.due_time.map_or(Due::Now, Due::At);
        self.held.insert(job.id.clone(), job);
        Ok(TakeResult::Item(item))
    }

    async fn holds(&mut self, item: &SourceItem) -> Result<bool> {
        let Some(job) = self.held.get(&item.id) else {
            return Ok(false);
        };
        Ok(self.queue.renew(job).await? == AckStatus::Done)
    }

    async fn finish(&mut self, item: &SourceItem) -> Result<()> {
        if let Some(job) = self.held.get(&item.id) {
            self.queue.ack(job).await?;
            self.held.remove(&item.id);
        }
        Ok(())
    }

    /// Waits for jobs of dead workers if there may be any, so that a bridge that runs once migrates them.
    async fn clean(&mut self) -> Result<()> {
        if self.may_have_lost {
            self.queue.rescue_all().await?;
            self.may_have_lost = false;
        } else {
            self.queue.rescue().await?;
        }
        Ok(())
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        for job in self.held.values() {
            self.queue.nack(job, ReturnTo::Front).await?;
        }
        Ok(())
    }
}
