//! The bridge as a worker of Worqr.
//!
//! Tasks have no id before they are started: the id of the process is the job's. A bridge that is
//! killed between the two steps leaves its task to be started again as another process, and then
//! it is carried over twice.

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{ErrorKind, Result};

use super::origin::{Origin, Taken, Took};
use crate::Server;
use crate::worqr::{Settings, Worker, WorkerOptions, WorkerState, Worqr};

/// A worker that serves one queue.
#[derive(Debug)]
pub(super) struct Hand {
    worqr: Worqr,
    worker: Worker,
    queue: String,
    /// A task may have been started without our knowing, or the worker may serve nothing.
    is_in_doubt: bool,
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
            is_in_doubt: false,
        })
    }

    /// What it held, known to us or not, goes back to the queue.
    async fn begin_again(&mut self) -> Result<Took> {
        self.is_in_doubt = true;
        self.worker.restart().await?;
        self.worker.start_work(&self.queue).await?;
        self.is_in_doubt = false;
        Ok(Took::Anew)
    }
}

#[async_trait]
impl Origin for Hand {
    async fn take(&mut self, wait: Duration) -> Result<Took> {
        if self.is_in_doubt || self.worker.state() == WorkerState::Failed {
            return self.begin_again().await;
        }
        // Until there is an answer; the call may be given up as well.
        self.is_in_doubt = true;
        match self.worker.start_task_within(&self.queue, wait).await {
            Ok(process) => {
                self.is_in_doubt = false;
                Ok(process.map_or(Took::Nothing, |process| {
                    Took::One(Taken {
                        id: process.id,
                        data: process.task,
                    })
                }))
            }
            // Its timer ran out, and its next beat has not told us yet.
            Err(error) if error.kind() == ErrorKind::Conflict => self.begin_again().await,
            Err(error) => {
                self.is_in_doubt = error.is_unknown();
                Err(error)
            }
        }
    }

    async fn holds(&mut self, taken: &Taken) -> Result<bool> {
        self.worqr.is_in_progress(&taken.id).await
    }

    async fn done(&mut self, taken: &Taken) -> Result<()> {
        self.worker.finish_task(&taken.id).await.map(drop)
    }

    async fn clean(&mut self) -> Result<()> {
        self.worqr.cleanup_workers().await.map(drop)
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        self.worker.leave().await.map(drop)
    }
}
