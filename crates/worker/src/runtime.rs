//! One worker, from its start to its end.

use std::fmt;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;
use windlass_core::{BootId, Result};

use crate::handle::Handle;
use crate::keeper::Keeper;
use crate::options::Options;
use crate::phase::{Phase, Stopper};
use crate::shared::Shared;
use crate::stores::Stores;
use crate::summary::Summary;
use crate::{drain, fetch, settle};

/// A worker, ready to run.
#[must_use = "a worker does nothing until it runs"]
pub struct Runtime(Arc<Shared>);

impl Runtime {
    /// A worker that runs the jobs of its queues with `handler`; fails when the options are wrong.
    pub fn new(stores: Stores, options: Options, handler: Arc<dyn Handle>) -> Result<Self> {
        options.check()?;
        Ok(Self(Arc::new(Shared::new(stores, options, handler))))
    }

    /// The id of this life of the worker.
    pub fn boot(&self) -> BootId {
        self.0.boot()
    }

    /// What stops it.
    pub fn stopper(&self) -> Stopper {
        self.0.stopper.clone()
    }

    /// Works until it is stopped, or the store refuses for good. Handlers run in the runtime that
    /// calls this.
    pub async fn run(self) -> Result<Summary> {
        let shared = self.0;
        let _ = shared.handlers.set(tokio::runtime::Handle::current());
        let keeper = Keeper::start(Arc::clone(&shared)).await?;
        let mut fetches = JoinSet::new();
        let mut settles = JoinSet::new();
        for lane in &shared.lanes {
            fetches.spawn(fetch::run(Arc::clone(&shared), Arc::clone(lane)));
            for _ in 0..settle::LOOPS {
                settles.spawn(settle::run(Arc::clone(&shared), Arc::clone(lane)));
            }
        }
        watch(&shared, &mut fetches, &mut settles).await;
        let begun = Instant::now();
        while let Some(ended) = fetches.join_next().await {
            shared.loop_ended(Some(ended));
        }
        drain::drain(&shared, begun).await;
        settles.shutdown().await;
        keeper.end().await;
        match shared.take_fault() {
            Some(fault) => Err(fault),
            None => Ok(shared.tally.summary()),
        }
    }
}

/// Waits for the worker to be stopped; a loop that breaks down stops it.
async fn watch(shared: &Shared, fetches: &mut JoinSet<()>, settles: &mut JoinSet<()>) {
    let stopping = shared.stopper.until(|phase| *phase >= Phase::Stopping);
    tokio::pin!(stopping);
    loop {
        tokio::select! {
            _ = &mut stopping => return,
            Some(ended) = fetches.join_next() => shared.loop_ended(Some(ended)),
            Some(ended) = settles.join_next() => shared.loop_ended(Some(ended)),
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
