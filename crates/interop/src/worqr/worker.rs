//! A worker that sends heartbeats and cleans up in the background until it is dropped.

use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use windlass_core::Result;

use super::Worqr;
use super::processes::{Process, ProcessEnd};
use super::workers::{FailIf, HEARTBEAT, Lifetime, WorkerFailure};
use crate::id;

/// How often a worker cleans up after dead workers (`workerCleanupInterval`).
const CLEANUP: Duration = Duration::from_secs(10);

/// Options of a [`WorqrWorker`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Id (default: a random UUID).
    pub id: Option<String>,
    /// How long the worker stays alive after its last heartbeat (default: 3s).
    pub lifetime: Lifetime,
    /// Heartbeat interval (default: 1s).
    pub heartbeat: Duration,
    /// Cleanup interval; never if `None` (default: 10s).
    pub cleanup: Option<Duration>,
}

impl Default for WorkerOptions {
    /// Returns the original's defaults.
    fn default() -> Self {
        Self {
            id: None,
            lifetime: Lifetime::default(),
            heartbeat: HEARTBEAT,
            cleanup: Some(CLEANUP),
        }
    }
}

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// It sends heartbeats.
    Alive,
    /// Its timer ran out or another client failed it, and its tasks were returned. It sends no
    /// heartbeats until it is restarted.
    Failed,
}

/// A worker that sends heartbeats in the background. When it is dropped, the heartbeats stop, and its
/// tasks are returned once its timer has run out. [`WorqrWorker::leave`] returns them immediately.
///
/// Heartbeats run on the Tokio runtime that called [`Worqr::join`]. Handlers that block all of its
/// threads make the worker fail.
#[derive(Debug)]
pub struct WorqrWorker {
    worqr: Worqr,
    id: String,
    options: WorkerOptions,
    background: Background,
}

/// Background tasks of a worker, aborted on drop.
#[derive(Debug)]
struct Background {
    state: watch::Receiver<WorkerState>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Background {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Worqr {
    /// Starts a worker that sends heartbeats in the background. Returns the tasks that an earlier worker
    /// with the same id had in progress to their queues first.
    pub async fn join(&self, options: WorkerOptions) -> Result<WorqrWorker> {
        let id = match &options.id {
            Some(id) => id.clone(),
            None => id::uuid()?,
        };
        let background = self.start_background(&id, &options).await?;
        let worqr = self.clone();
        Ok(WorqrWorker {
            worqr,
            id,
            options,
            background,
        })
    }

    async fn start_background(&self, id: &str, options: &WorkerOptions) -> Result<Background> {
        self.fail_worker(id).await?;
        self.start_worker(id, options.lifetime).await?;
        let (sender, state) = watch::channel(WorkerState::Alive);
        let mut tasks = Vec::new();
        if let Lifetime::Expiring(timeout) = options.lifetime {
            let heartbeats = send_heartbeats(
                self.clone(),
                id.to_owned(),
                every(options.heartbeat),
                timeout,
                sender,
            );
            tasks.push(tokio::spawn(heartbeats));
        } else {
            // A permanent worker never fails: keep the channel open.
            tasks.push(tokio::spawn(async move { sender.closed().await }));
        }
        if let Some(cleanup) = options.cleanup {
            tasks.push(tokio::spawn(clean(self.clone(), every(cleanup))));
        }
        Ok(Background { state, tasks })
    }
}

impl WorqrWorker {
    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the state as of the last heartbeat.
    pub fn state(&self) -> WorkerState {
        *self.background.state.borrow()
    }

    /// Waits until the worker has failed.
    pub async fn failed(&self) {
        let mut state = self.background.state.clone();
        let failed = state.wait_for(|state| *state == WorkerState::Failed);
        if failed.await.is_err() {
            // The background task ended with its runtime: the state will not change any more.
            std::future::pending::<()>().await;
        }
    }

    /// Restarts the worker under the same id, serving no queues yet. Its earlier tasks are returned, and
    /// ending one of their processes gives [`ProcessEnd::Gone`].
    pub async fn restart(&mut self) -> Result<()> {
        self.background = self.worqr.start_background(&self.id, &self.options).await?;
        Ok(())
    }

    /// Stops the worker and returns its tasks to the front of their queues. Returns their number.
    pub async fn leave(self) -> Result<u64> {
        let Self {
            worqr,
            id,
            background,
            ..
        } = self;
        drop(background);
        match worqr.fail_worker(&id).await? {
            WorkerFailure::Ended(tasks) | WorkerFailure::Undecided(tasks) => Ok(tasks),
            // Already failed by another client.
            WorkerFailure::Unknown => Ok(0),
        }
    }

    /// See [`Worqr::start_work`].
    pub async fn start_work(&self, queue: &str) -> Result<u64> {
        self.worqr.start_work(&self.id, queue).await
    }

    /// See [`Worqr::stop_work`].
    pub async fn stop_work(&self, queue: &str) -> Result<u64> {
        self.worqr.stop_work(&self.id, queue).await
    }

    /// See [`Worqr::start_task`].
    pub async fn start_task(&self, queue: &str) -> Result<Option<Process>> {
        self.worqr.start_task(&self.id, queue).await
    }

    /// See [`Worqr::start_task_within`].
    pub async fn start_task_within(&self, queue: &str, wait: Duration) -> Result<Option<Process>> {
        self.worqr.start_task_within(&self.id, queue, wait).await
    }

    /// See [`Worqr::stop_task`].
    pub async fn stop_task(&self, process: &str) -> Result<ProcessEnd> {
        self.worqr.stop_task(&self.id, process).await
    }

    /// See [`Worqr::finish_task`].
    pub async fn finish_task(&self, process: &str) -> Result<ProcessEnd> {
        self.worqr.finish_task(&self.id, process).await
    }

    /// See [`Worqr::finish_task_with`].
    pub async fn finish_task_with(
        &self,
        process: &str,
        result: &(impl Serialize + ?Sized),
    ) -> Result<ProcessEnd> {
        self.worqr.finish_task_with(&self.id, process, result).await
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    // A zero interval would panic.
    let period = period.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Sends heartbeats until the timer has run out. Errors are ignored until the next heartbeat, because
/// only the server knows whether the timer still runs.
async fn send_heartbeats(
    worqr: Worqr,
    id: String,
    mut ticks: tokio::time::Interval,
    timeout: Duration,
    sender: watch::Sender<WorkerState>,
) {
    loop {
        ticks.tick().await;
        if let Ok(false) = worqr.keep_worker_alive(&id, timeout).await {
            break;
        }
    }
    // If this fails, the next cleanup of any client returns the tasks.
    let _ = worqr.fail(&id, FailIf::Expired).await;
    // The receiver may be gone.
    let _ = sender.send(WorkerState::Failed);
    sender.closed().await;
}

/// Cleans up periodically. Errors are ignored until the next run.
async fn clean(worqr: Worqr, mut ticks: tokio::time::Interval) {
    loop {
        ticks.tick().await;
        let _ = worqr.cleanup_workers().await;
    }
}
