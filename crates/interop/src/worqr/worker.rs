//! A worker that beats and cleans up by itself for as long as its handle is there.

use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use windlass_core::Result;

use super::processes::{Ended, Process};
use super::workers::{BEAT, Failed, Lifetime, Victim};
use super::{Worqr, nonce};

/// How often a worker looks for others that died (`workerCleanupInterval`).
const CLEANUP: Duration = Duration::from_secs(10);

/// How a worker lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Its id; drawn where there is none.
    pub id: Option<String>,
    /// How long it counts as living after its last beat.
    pub lifetime: Lifetime,
    /// How often it beats.
    pub beat: Duration,
    /// How often it looks for workers that died; never where there is nothing.
    pub cleanup: Option<Duration>,
}

impl Default for WorkerOptions {
    /// What the original does where nothing is said.
    fn default() -> Self {
        Self {
            id: None,
            lifetime: Lifetime::default(),
            beat: BEAT,
            cleanup: Some(CLEANUP),
        }
    }
}

/// Whether a worker lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    /// It beats.
    Alive,
    /// It failed to stay alive: its timer ran out or somebody failed it, and its tasks went back.
    /// It beats no more until it is restarted.
    Failed,
}

/// A worker that beats by itself. Dropped, it stops beating, and its tasks go back once its timer
/// has run out; [`Worker::leave`] puts them back at once.
///
/// It beats on the runtime that joined it: handlers that block every thread of it end the worker.
#[derive(Debug)]
pub struct Worker {
    worqr: Worqr,
    id: String,
    options: WorkerOptions,
    life: Life,
}

/// What goes on beside the worker, until it is dropped.
#[derive(Debug)]
struct Life {
    state: watch::Receiver<WorkerState>,
    chores: Vec<JoinHandle<()>>,
}

impl Drop for Life {
    fn drop(&mut self) {
        for chore in &self.chores {
            chore.abort();
        }
    }
}

impl Worqr {
    /// Starts a worker that beats by itself. What a worker of the same id had in progress goes back
    /// first: it cannot come back for it.
    pub async fn join(&self, options: WorkerOptions) -> Result<Worker> {
        let id = match &options.id {
            Some(id) => id.clone(),
            None => nonce::uuid()?,
        };
        let life = self.begin(&id, &options).await?;
        let worqr = self.clone();
        Ok(Worker {
            worqr,
            id,
            options,
            life,
        })
    }

    async fn begin(&self, id: &str, options: &WorkerOptions) -> Result<Life> {
        self.fail_worker(id).await?;
        self.start_worker(id, options.lifetime).await?;
        let (tell, state) = watch::channel(WorkerState::Alive);
        let mut chores = Vec::new();
        if let Lifetime::Expiring(timeout) = options.lifetime {
            let beating = beat(
                self.clone(),
                id.to_owned(),
                every(options.beat),
                timeout,
                tell,
            );
            chores.push(tokio::spawn(beating));
        } else {
            // Nobody can tell that it failed: whoever waits for it waits for good.
            chores.push(tokio::spawn(async move { tell.closed().await }));
        }
        if let Some(cleanup) = options.cleanup {
            chores.push(tokio::spawn(clean(self.clone(), every(cleanup))));
        }
        Ok(Life { state, chores })
    }
}

impl Worker {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it lives, as of its last beat.
    pub fn state(&self) -> WorkerState {
        *self.life.state.borrow()
    }

    /// Waits until it has failed.
    pub async fn failed(&self) {
        let mut state = self.life.state.clone();
        let failed = state.wait_for(|state| *state == WorkerState::Failed);
        if failed.await.is_err() {
            // The beating ended with its runtime: nothing will be told any more.
            std::future::pending::<()>().await;
        }
    }

    /// Lives anew under the same id, serving nothing yet. Its earlier processes went back, and
    /// ending one of them is answered with [`Ended::Gone`].
    pub async fn restart(&mut self) -> Result<()> {
        self.life = self.worqr.begin(&self.id, &self.options).await?;
        Ok(())
    }

    /// Ends; what is in progress goes back to the front at once. Answers how many tasks that were.
    pub async fn leave(self) -> Result<u64> {
        let Self {
            worqr, id, life, ..
        } = self;
        drop(life);
        match worqr.fail_worker(&id).await? {
            Failed::Ended(tasks) | Failed::Undecided(tasks) => Ok(tasks),
            // Somebody declared it dead before.
            Failed::Unknown => Ok(0),
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
    pub async fn stop_task(&self, process: &str) -> Result<Ended> {
        self.worqr.stop_task(&self.id, process).await
    }

    /// See [`Worqr::finish_task`].
    pub async fn finish_task(&self, process: &str) -> Result<Ended> {
        self.worqr.finish_task(&self.id, process).await
    }

    /// See [`Worqr::finish_task_with`].
    pub async fn finish_task_with(
        &self,
        process: &str,
        result: &(impl Serialize + ?Sized),
    ) -> Result<Ended> {
        self.worqr.finish_task_with(&self.id, process, result).await
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    // An interval of nothing would be refused with a panic.
    let period = period.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Beats until the timer is found to have run out. A server that does not answer is asked again at
/// the next beat: only it knows whether the timer still runs.
async fn beat(
    worqr: Worqr,
    id: String,
    mut ticks: tokio::time::Interval,
    timeout: Duration,
    tell: watch::Sender<WorkerState>,
) {
    loop {
        ticks.tick().await;
        if let Ok(false) = worqr.keep_worker_alive(&id, timeout).await {
            break;
        }
    }
    // What cannot be put back now is found by the next cleanup of anybody.
    let _ = worqr.fail(&id, Victim::Expired).await;
    // Nobody listens when the worker is going away.
    let _ = tell.send(WorkerState::Failed);
    tell.closed().await;
}

/// Looks for dead workers again and again; what fails is tried at the next time.
async fn clean(worqr: Worqr, mut ticks: tokio::time::Interval) {
    loop {
        ticks.tick().await;
        let _ = worqr.cleanup_workers().await;
    }
}
