//! One worker, from start to stop.

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;
use windlass_core::{BootId, Result};

use crate::claim::fetch;
use crate::connections::Connections;
use crate::events;
use crate::handle::Handle;
use crate::lease_thread::LeaseThread;
use crate::lock::lock;
use crate::metrics::RunningWorker;
use crate::options::Options;
use crate::run::report;
use crate::shared::Shared;
use crate::stop::drain;
use crate::stop::phase::{Phase, Stopper};
use crate::summary::Summary;

/// A configured worker. Call [`run`](Self::run) to start it.
#[must_use = "a worker does nothing until it runs"]
pub struct Runtime(Arc<Shared>);

impl Runtime {
    /// Creates a worker that runs the jobs of its queues with `handler`. Fails if the options are
    /// invalid.
    pub fn new(
        connections: Connections,
        options: Options,
        handler: Arc<dyn Handle>,
    ) -> Result<Self> {
        options.check()?;
        Ok(Self(Arc::new(Shared::new(connections, options, handler))))
    }

    /// Returns the worker's boot id, which is unique per start.
    pub fn boot(&self) -> BootId {
        self.0.boot()
    }

    /// Returns a handle that stops this worker.
    pub fn stopper(&self) -> Stopper {
        self.0.stopper.clone()
    }

    /// Runs until the worker is stopped or the store fails permanently. Handlers run on the Tokio
    /// runtime that calls this.
    pub async fn run(self) -> Result<Summary> {
        let shared = self.0;
        let _running = RunningWorker::start(shared.options.concurrency);
        let _ = shared.handlers.set(tokio::runtime::Handle::current());
        let Some(lease_thread) = LeaseThread::start(Arc::clone(&shared)).await? else {
            return Ok(Summary::default());
        };
        events::worker_started(&shared);
        let mut fetches = JoinSet::new();
        let mut reports = JoinSet::new();
        for queue in &shared.queues {
            fetches.spawn(fetch::run(Arc::clone(&shared), Arc::clone(queue)));
            for _ in 0..report::LOOPS {
                reports.spawn(report::run(Arc::clone(&shared), Arc::clone(queue), None));
            }
        }
        watch(&shared, &mut fetches, &mut reports).await;
        events::worker_draining(&shared);
        let started = Instant::now();
        while let Some(ended) = fetches.join_next().await {
            shared.loop_ended(Some(ended));
        }
        drain::drain(&shared, started).await;
        reports.shutdown().await;
        lease_thread.end().await;
        if let Some(error) = shared.take_error() {
            return Err(error);
        }
        let summary = *lock(&shared.summary);
        events::worker_stopped(&summary);
        Ok(summary)
    }
}

/// Waits until the worker is stopped. A loop that panics stops it.
async fn watch(shared: &Shared, fetches: &mut JoinSet<()>, reports: &mut JoinSet<()>) {
    let stopping = shared.stopper.until(|phase| *phase >= Phase::Stopping);
    tokio::pin!(stopping);
    loop {
        tokio::select! {
            _ = &mut stopping => return,
            Some(ended) = fetches.join_next() => shared.loop_ended(Some(ended)),
            Some(ended) = reports.join_next() => shared.loop_ended(Some(ended)),
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("boot", &self.0.boot())
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
