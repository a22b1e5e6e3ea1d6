//! The bridge as a Worqr worker.
//!
//! Tasks have no id before they are started, so the process id becomes the job id. It is recorded
//! next to a digest of the task: if a bridge is killed, the next one that starts a task with the same
//! bytes uses the same job id.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{ErrorKind, Result};

use super::source::{SourceItem, SourceWorker, TakeResult};
use crate::InteropServer;
use crate::worqr::{WorkerOptions, WorkerState, Worqr, WorqrSettings, WorqrWorker};

/// A worker that serves one queue.
#[derive(Debug)]
pub(super) struct WorqrSource {
    worqr: Worqr,
    worker: WorqrWorker,
    queue: String,
    /// The process of each job that is not finished yet.
    held: HashMap<String, String>,
    /// A task may have been started without a reply, or the worker may not serve the queue.
    needs_restart: bool,
}

impl WorqrSource {
    pub(super) async fn join(
        server: &InteropServer,
        queue: &str,
        settings: WorqrSettings,
    ) -> Result<Self> {
        let worqr = Worqr::new(server, settings)?;
        let worker = worqr.join(WorkerOptions::default()).await?;
        worker.start_work(queue).await?;
        Ok(Self {
            worqr,
            worker,
            queue: queue.to_owned(),
            held: HashMap::new(),
            needs_restart: false,
        })
    }

    /// Restarts the worker, which returns all of its tasks to the queue.
    async fn restart(&mut self) -> Result<TakeResult> {
        self.needs_restart = true;
        self.worker.restart().await?;
        self.worker.start_work(&self.queue).await?;
        self.needs_restart = false;
        Ok(TakeResult::Rejoined)
    }
}

#[async_trait]
impl SourceWorker for WorqrSource {
    async fn take(&mut self, wait: Duration) -> Result<TakeResult> {
        if self.needs_restart || self.worker.state() == WorkerState::Failed {
            return self.restart().await;
        }
        // Until a reply arrives: this call may fail or be cancelled.
        self.needs_restart = true;
        match self.worker.start_task_within(&self.queue, wait).await {
            Ok(Some(process)) => {
                let named = self.worqr.bridged_job(&self.queue, &process.id).await?;
                let Some(id) = named else {
                    // The task was taken back already, and the worker with it.
                    return self.restart().await;
                };
                self.needs_restart = false;
                self.held.insert(id.clone(), process.id);
                Ok(TakeResult::Item(SourceItem::new(id, process.task)))
            }
            Ok(None) => {
                self.needs_restart = false;
                self.worqr.forget_bridged_jobs(&self.queue).await?;
                Ok(TakeResult::Empty)
            }
            // The worker's timer ran out, and no heartbeat has noticed yet.
            Err(error) if error.kind() == ErrorKind::Conflict => self.restart().await,
            Err(error) => {
                self.needs_restart = error.is_unknown();
                Err(error)
            }
        }
    }

    async fn holds(&mut self, item: &SourceItem) -> Result<bool> {
        match self.held.get(&item.id) {
            Some(process) => self.worqr.is_in_progress(process).await,
            None => Ok(false),
        }
    }

    async fn finish(&mut self, item: &SourceItem) -> Result<()> {
        if let Some(process) = self.held.get(&item.id) {
            self.worker.finish_task(process).await?;
            self.held.remove(&item.id);
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
