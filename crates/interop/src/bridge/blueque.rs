//! The bridge as a listener of Blueque.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{ErrorKind, Result};

use super::origin::{Origin, Taken, Took};
use crate::Server;
use crate::blueque::{
    Blueque, CleanOptions, Heartbeat, Layout, Listener, ListenerOptions, Processor, Queue,
};

/// What a task that was carried over tells whoever waits for its result.
const RESULT: &str = "\"carried over to windlass\"";

/// A listener of one queue.
#[derive(Debug)]
pub(super) struct Ear {
    blueque: Blueque,
    queue: Queue,
    listener: Listener,
    /// What is taken and not finished yet.
    held: HashMap<String, Processor>,
    heartbeat: Heartbeat,
}

impl Ear {
    pub(super) async fn join(server: &Server, queue: &str, layout: Layout) -> Result<Self> {
        let blueque = Blueque::new(server.clone(), layout);
        let queue = blueque.queue(queue)?;
        let listener = queue.join(ListenerOptions::default()).await?;
        Ok(Self {
            heartbeat: listener.heartbeat(),
            blueque,
            queue,
            listener,
            held: HashMap::new(),
        })
    }

    /// As another listener: what the lost one held goes back to the queue.
    async fn join_again(&mut self) -> Result<Took> {
        self.listener = self.queue.join(ListenerOptions::default()).await?;
        self.heartbeat = self.listener.heartbeat();
        self.held.clear();
        Ok(Took::Anew)
    }
}

#[async_trait]
impl Origin for Ear {
    async fn take(&mut self, wait: Duration) -> Result<Took> {
        let task = match self.listener.listen(wait).await {
            Ok(Some(task)) => task,
            Ok(None) => return Ok(Took::Nothing),
            // It was unheard for too long, and declared lost.
            Err(error) if error.kind() == ErrorKind::Conflict => return self.join_again().await,
            Err(error) => return Err(error),
        };
        let processor = self.blueque.processor(&task)?;
        self.held.insert(task.id.clone(), processor);
        Ok(Took::One(Taken {
            id: task.id,
            data: task.parameters.unwrap_or_default(),
        }))
    }

    async fn holds(&mut self, taken: &Taken) -> Result<bool> {
        let task = self.blueque.get_task(&taken.id).await?;
        let is_held = task.is_some_and(|task| {
            let holder = task.reclaimed_node.or(task.node);
            let is_held = matches!(task.status.as_str(), "reserved" | "started");
            is_held && holder.as_deref() == Some(self.listener.name())
        });
        if !is_held {
            self.held.remove(&taken.id);
        }
        Ok(is_held)
    }

    async fn done(&mut self, taken: &Taken) -> Result<()> {
        let Some(processor) = self.held.get_mut(&taken.id) else {
            return Ok(());
        };
        match finish(processor, self.blueque.layout()).await {
            // Its time was over, and somebody else has it: it is carried over again.
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            ended => ended?,
        }
        self.held.remove(&taken.id);
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        self.queue.enqueue_due_tasks().await?;
        let options = CleanOptions {
            // By the design note a task is started as it is taken: what a bridge held when it was
            // killed would be failed there, and is in no queue of ours.
            retry_lost: self.blueque.layout() == Layout::Document,
            ..CleanOptions::default()
        };
        self.queue.clean(&options).await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        self.listener.leave().await.map(drop)
    }
}

/// A task ends well only when it was started; the design note starts it when it is taken.
async fn finish(processor: &mut Processor, layout: Layout) -> Result<()> {
    if layout == Layout::Released {
        processor.start(std::process::id()).await?;
    }
    processor.complete(RESULT).await
}
