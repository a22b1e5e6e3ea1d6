//! Tracks tasks, so that none uses a store that is being removed.

use std::future::Future;

use tokio::task::{JoinError, JoinHandle};
use tokio_util::task::TaskTracker;
use windlass::Result;
use windlass::runtime::Stopper;

use crate::error;

/// All tasks of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(TaskTracker);

/// A task that is aborted on drop.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

/// A worker that is stopped on drop.
#[derive(Debug)]
pub(crate) struct StopOnDrop(pub(crate) Stopper);

impl Tasks {
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        Task(self.0.spawn(work))
    }

    /// Like [`spawn`](Self::spawn), but the task is not aborted on drop.
    pub(crate) fn spawn_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn(work)
    }

    /// Runs callers concurrently and waits for all; the first error aborts the others.
    pub(crate) async fn all<F>(&self, callers: impl IntoIterator<Item = F>) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let running: Vec<_> = callers.into_iter().map(|it| self.spawn(it)).collect();
        for task in running {
            task.join().await??;
        }
        Ok(())
    }

    /// Waits until every task has ended.
    pub(crate) async fn wait(&self) {
        self.0.close();
        self.0.wait().await;
    }
}

impl<T> Task<T> {
    pub(crate) async fn join(mut self) -> Result<T> {
        (&mut self.0).await.map_err(panicked)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn panicked(error: JoinError) -> windlass::Error {
    error::internal(format!("a bench task failed: {error}"))
}
