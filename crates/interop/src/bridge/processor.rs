//! The bridge as a worker of the Processor Job Queue to which jobs are dispatched.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use windlass_core::{Priority, Result};

use super::source::{SourceItem, SourceWorker, TakeResult};
use crate::processor::ProcessorQueue;

/// The part of a job that Windlass uses.
#[derive(Deserialize)]
struct JobFields {
    priority: Option<serde_json::Value>,
}

/// Takes jobs from one queue.
#[derive(Debug)]
pub(super) struct ProcessorSource {
    queue: ProcessorQueue,
    /// The score of each job that was taken and is not finished yet.
    held: HashMap<String, String>,
    /// A job may have been taken without a reply, by this bridge or one that was killed.
    may_have_lost: bool,
}

impl ProcessorSource {
    pub(super) fn new(queue: ProcessorQueue) -> Self {
        Self {
            queue,
            held: HashMap::new(),
            may_have_lost: true,
        }
    }
}

#[async_trait]
impl SourceWorker for ProcessorSource {
    async fn take(&mut self, wait: Duration) -> Result<TakeResult> {
        if self.may_have_lost {
            self.clean().await?;
        }
        // Until a reply arrives: this call may fail or be cancelled.
        self.may_have_lost = true;
        let taken = self.queue.take(wait).await?;
        self.may_have_lost = false;
        let Some(job) = taken else {
            return Ok(TakeResult::Empty);
        };
        let mut item = SourceItem::new(job.id.clone(), job.json);
        item.priority = priority(&item.data);
        self.held.insert(job.id, job.score);
        Ok(TakeResult::Item(item))
    }

    async fn holds(&mut self, item: &SourceItem) -> Result<bool> {
        let Some(score) = self.held.get(&item.id) else {
            return Ok(false);
        };
        let renewed = self.queue.renew(&item.id, score).await?;
        let is_held = renewed.is_some();
        match renewed {
            Some(score) => self.held.insert(item.id.clone(), score),
            None => self.held.remove(&item.id),
        };
        Ok(is_held)
    }

    async fn finish(&mut self, item: &SourceItem) -> Result<()> {
        if let Some(score) = self.held.get(&item.id) {
            self.queue.finish(&item.id, score).await?;
            self.held.remove(&item.id);
        }
        Ok(())
    }

    /// Waits for jobs that are dispatched and not accepted if there may be any, so that a bridge that
    /// runs once migrates them.
    async fn clean(&mut self) -> Result<()> {
        let wait = self.queue.requeue().await?;
        if self.may_have_lost {
            tokio::time::sleep(wait).await;
            self.queue.requeue().await?;
            self.may_have_lost = false;
        }
        Ok(())
    }

    /// Items that were rejected stay dispatched: the original or a later bridge returns them.
    async fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// Returns the priority of a job, which the original documents and does not use (default: 5).
fn priority(json: &[u8]) -> Priority {
    let fields: Option<JobFields> = serde_json::from_slice(json).ok();
    let level = fields.and_then(|fields| fields.priority?.as_u64());
    let level = level.and_then(|level| u8::try_from(level).ok());
    level
        .and_then(|level| Priority::new(level).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_priority_is_the_default() {
        assert_eq!(priority(br#"{"uuid":"a","priority":0}"#).level(), 0);
        for json in ["{}", r#"{"priority":12}"#, r#"{"priority":"x"}"#, "[]", "x"] {
            assert_eq!(priority(json.as_bytes()), Priority::default(), "{json}");
        }
    }
}
