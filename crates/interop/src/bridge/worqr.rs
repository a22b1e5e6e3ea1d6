//! The bridge as a worker of Worqr.
//!
//! Tasks have no id before they are started: the id of the process is the job's. A bridge that is
//! killed between the two steps leaves its task to be started again as another process, and then
//! it is carried over twice.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::Result;

use super::origin::{Origin, Taken};
use crate::Server;
use crate::worqr::{Settings, Worker, WorkerOptions, WorkerState, Worqr};

/// A worker that serves one queue.
#[derive(Debug)]
pub(super) struct Hand {
    worqr: Worqr,
    worker: Worker,
    queue: String,
}

impl Hand {
    pub(super) async fn join(server: &Server, queue: &str, settings: Settings) -> Result<Self> {
        let worqr = Worqr::new(server, settings)?;
        let worker = worqr.join(WorkerOptions::default()).await?;
        worker.start_work(queue).await?;
        Ok(Self {
            worqr,
            worker,
            queue: queue.to_owned(),
        })
    }
}

#[async_trait]
impl Origin for Hand {
    async fn take(&mut self, wait: Duration) -> Result<Option<Taken>> {
        if self.worker.state() == WorkerState::Failed {
            // What it held went back to the queue.
            self.worker.restart().await?;
            self.worker.start_work(&self.queue).await?;
        }
        let process = self.worker.start_task_within(&self.queue, wait).await?;
        Ok(process.map(|process| Taken {
            id: process.id,
            data: process.task,
        }))
    }

    async fn done(&mut self, taken: &[Taken]) -> Result<()> {
        for taken in taken {
            self.worker.finish_task(&taken.id).await?;
        }
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        self.worqr.cleanup_workers().await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        self.worker.leave().await.map(drop)
    }
}
