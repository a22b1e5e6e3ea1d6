//! The bridge as a listener of Blueque.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{ErrorKind, Result};

use super::origin::{Origin, Taken};
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
    _heartbeat: Heartbeat,
}

impl Ear {
    pub(super) async fn join(server: &Server, queue: &str, layout: Layout) -> Result<Self> {
        let blueque = Blueque::new(server.clone(), layout);
        let queue = blueque.queue(queue)?;
        let listener = queue.join(ListenerOptions::default()).await?;
        Ok(Self {
            _heartbeat: listener.heartbeat(),
            blueque,
            queue,
            listener,
            held: HashMap::new(),
        })
    }
}

#[async_trait]
impl Origin for Ear {
    async fn take(&mut self, wait: Duration) -> Result<Option<Taken>> {
        let Some(task) = self.listener.listen(wait).await? else {
            return Ok(None);
        };
        let processor = self.blueque.processor(&task)?;
        self.held.insert(task.id.clone(), processor);
        Ok(Some(Taken {
            id: task.id,
            data: task.parameters.unwrap_or_default(),
        }))
    }

    async fn done(&mut self, taken: &[Taken]) -> Result<()> {
        for taken in taken {
            let Some(mut processor) = self.held.remove(&taken.id) else {
                continue;
            };
            match finish(&mut processor, self.blueque.layout()).await {
                // Its time was over, and somebody else has it: it is carried over again.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                ended => ended?,
            }
        }
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        self.queue.enqueue_due_tasks().await?;
        self.queue.clean(&CleanOptions::default()).await.map(drop)
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
