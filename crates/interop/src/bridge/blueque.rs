//! The bridge as a Blueque listener.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{ErrorKind, Result};

use super::source::{SourceItem, SourceWorker, TakeResult};
use crate::InteropServer;
use crate::blueque::{
    Blueque, BluequeLayout, BluequeListener, BluequeProcessor, BluequeQueue, CleanOptions,
    ListenerHeartbeat, ListenerOptions,
};

/// The result of a migrated task.
const RESULT: &str = "\"migrated to windlass\"";

/// A listener of one queue.
#[derive(Debug)]
pub(super) struct BluequeSource {
    blueque: Blueque,
    queue: BluequeQueue,
    listener: BluequeListener,
    /// Taken and not finished yet, by task id.
    held: HashMap<String, BluequeProcessor>,
    heartbeat: ListenerHeartbeat,
}

impl BluequeSource {
    pub(super) async fn join(
        server: &InteropServer,
        queue: &str,
        layout: BluequeLayout,
    ) -> Result<Self> {
        let blueque = Blueque::new(server.clone(), layout);
        let queue = blueque.queue(queue)?;
        let listener = queue.join(ListenerOptions::default()).await?;
        Ok(Self {
            heartbeat: listener.start_heartbeat(),
            blueque,
            queue,
            listener,
            held: HashMap::new(),
        })
    }

    /// Joins as a new listener. The tasks of the lost one return to the queue.
    async fn rejoin(&mut self) -> Result<TakeResult> {
        self.listener = self.queue.join(ListenerOptions::default()).await?;
        self.heartbeat = self.listener.start_heartbeat();
        self.held.clear();
        Ok(TakeResult::Rejoined)
    }
}

#[async_trait]
impl SourceWorker for BluequeSource {
    async fn take(&mut self, wait: Duration) -> Result<TakeResult> {
        let task = match self.listener.listen(wait).await {
            Ok(Some(task)) => task,
            Ok(None) => return Ok(TakeResult::Empty),
            // The listener missed its heartbeats and was declared lost.
            Err(error) if error.kind() == ErrorKind::Conflict => return self.rejoin().await,
            Err(error) => return Err(error),
        };
        let processor = self.blueque.processor(&task)?;
        self.held.insert(task.id.clone(), processor);
        Ok(TakeResult::Item(SourceItem::new(
            task.id,
            task.parameters.unwrap_or_default(),
        )))
    }

    async fn holds(&mut self, item: &SourceItem) -> Result<bool> {
        let task = self.blueque.get_task(&item.id).await?;
        let is_held = task.is_some_and(|task| {
            let holder = task.reclaimed_node.or(task.node);
            let is_held = matches!(task.status.as_str(), "reserved" | "started");
            is_held && holder.as_deref() == Some(self.listener.name())
        });
        if !is_held {
            self.held.remove(&item.id);
        }
        Ok(is_held)
    }

    async fn finish(&mut self, item: &SourceItem) -> Result<()> {
        let Some(processor) = self.held.get_mut(&item.id) else {
            return Ok(());
        };
        match complete(processor, self.blueque.layout()).await {
            // Another listener has it by now and will run or migrate it.
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            result => result?,
        }
        self.held.remove(&item.id);
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        self.queue.enqueue_due_tasks().await?;
        let options = CleanOptions {
            // In the document layout a task is started as it is taken. Without this, tasks held by a
            // killed bridge would fail there before they reach Windlass.
            retry_lost: self.blueque.layout() == BluequeLayout::Document,
            ..CleanOptions::default()
        };
        self.queue.clean(&options).await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        self.listener.leave().await.map(drop)
    }
}

/// Completes a task. In the released layout it has to be started first; in the document layout taking
/// it has started it.
async fn complete(processor: &mut BluequeProcessor, layout: BluequeLayout) -> Result<()> {
    if layout == BluequeLayout::Released {
        processor.start(std::process::id()).await?;
    }
    processor.complete(RESULT).await
}
