//! What a bridge needs from an older system.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::{Due, Priority, Result};

use super::{blueque, delayed_queue, processor, redis_work_queue, worqr};
use crate::InteropServer;
use crate::delayed_queue::DelayedQueue;
use crate::processor::ProcessorQueue;

/// The older queue that a bridge migrates from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BridgeSource {
    /// A redis-work-queue queue.
    RedisWorkQueue {
        /// Key prefix.
        prefix: String,
        /// Key layout.
        layout: crate::redis_work_queue::WorkQueueLayout,
    },
    /// A Worqr queue.
    Worqr {
        /// Queue name.
        queue: String,
        /// Key layout and prefix.
        settings: crate::worqr::WorqrSettings,
    },
    /// A Blueque queue.
    Blueque {
        /// Queue name.
        queue: String,
        /// Key layout.
        layout: crate::blueque::BluequeLayout,
    },
    /// A queue of the Processor Job Queue.
    Processor {
        /// Queue name.
        queue: String,
        /// Accepted jobs without progress for this long belong to a dead worker.
        silence: Duration,
    },
    /// The Delayed Queue App.
    DelayedQueue {
        /// Key prefix.
        prefix: String,
        /// Jobs that are unacknowledged for this long belong to a dead worker.
        unacked_for: Duration,
    },
}

impl BridgeSource {
    pub(super) async fn join(&self, server: &InteropServer) -> Result<Box<dyn SourceWorker>> {
        Ok(match self {
            Self::RedisWorkQueue { prefix, layout } => Box::new(
                redis_work_queue::WorkQueueSource::new(server, prefix, *layout),
            ),
            Self::Worqr { queue, settings } => {
                Box::new(worqr::WorqrSource::join(server, queue, settings.clone()).await?)
            }
            Self::Blueque { queue, layout } => {
                Box::new(blueque::BluequeSource::join(server, queue, *layout).await?)
            }
            Self::Processor { queue, silence } => {
                let queue = ProcessorQueue::new(server, queue, *silence);
                Box::new(processor::ProcessorSource::new(queue))
            }
            Self::DelayedQueue {
                prefix,
                unacked_for,
            } => {
                let queue = DelayedQueue::new(server.clone(), prefix);
                let queue = queue.with_unacked_for(*unacked_for);
                Box::new(delayed_queue::DelayedQueueSource::new(queue))
            }
        })
    }

    /// Returns the media type of the payloads, if all have the same.
    pub(super) fn content_type(&self) -> Option<&'static str> {
        matches!(self, Self::Processor { .. }).then_some("application/json")
    }

    /// Returns whether producers choose ids, and so may reuse them. The other systems generate ids.
    pub(super) fn has_producer_ids(&self) -> bool {
        matches!(self, Self::RedisWorkQueue { .. })
    }
}

impl fmt::Display for BridgeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RedisWorkQueue { prefix, .. } => write!(f, "redis-work-queue:{prefix}"),
            Self::Worqr { queue, .. } => write!(f, "worqr:{queue}"),
            Self::Blueque { queue, .. } => write!(f, "blueque:{queue}"),
            Self::Processor { queue, .. } => write!(f, "processor:{queue}"),
            Self::DelayedQueue { prefix, .. } => write!(f, "delayed-queue:{prefix}"),
        }
    }
}

/// An item or task that the bridge holds.
#[derive(Debug, Clone)]
pub(super) struct SourceItem {
    /// The id in the older system.
    pub(super) id: String,
    /// The payload.
    pub(super) data: Bytes,
    /// When the job may run.
    pub(super) due: Due,
    /// The priority.
    pub(super) priority: Priority,
}

impl SourceItem {
    /// Creates an item without a due time or a priority.
    pub(super) fn new(id: String, data: Bytes) -> Self {
        Self {
            id,
            data,
            due: Due::Now,
            priority: Priority::default(),
        }
    }
}

/// Reply to a request for work.
#[derive(Debug)]
pub(super) enum TakeResult {
    /// An item, now held by the bridge.
    Item(SourceItem),
    /// No work is waiting.
    Empty,
    /// The bridge was declared dead and joined as a new worker. Items taken before are no longer held.
    Rejoined,
}

/// The bridge as a worker of an older system.
#[async_trait]
pub(super) trait SourceWorker: fmt::Debug + Send + Sync {
    /// Takes one item, waiting up to `wait`.
    async fn take(&mut self, wait: Duration) -> Result<TakeResult>;

    /// Returns whether a taken item is still held. Called after an error.
    async fn holds(&mut self, item: &SourceItem) -> Result<bool>;

    /// Finishes an item. Succeeds if another worker already finished it.
    async fn finish(&mut self, item: &SourceItem) -> Result<()>;

    /// Returns items of dead workers to the queue and enqueues scheduled tasks that are due.
    async fn clean(&mut self) -> Result<()>;

    /// Leaves the older system.
    async fn leave(self: Box<Self>) -> Result<()>;
}
