//! What a scenario has at hand.

use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use windlass::{Client, Result, StoreUrl};

use crate::crew::Crew;
use crate::place::Place;
use crate::plan::Plan;
use crate::probe::Probe;
use crate::progress::Progress;
use crate::tasks::Tasks;

/// How often a watcher is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// One place, and what is to be done there.
pub(crate) struct Stage<'a> {
    pub(crate) place: &'a Place,
    pub(crate) plan: &'a Plan,
    pub(crate) tasks: &'a Tasks,
    pub(crate) progress: &'a dyn Progress,
    /// The program that is a worker process when it is called with `bench-worker`.
    pub(crate) program: &'a Path,
    pub(crate) crew: &'a Mutex<Crew>,
}

impl Stage<'_> {
    /// A client of a store.
    pub(crate) async fn client(&self, url: &StoreUrl) -> Result<Client> {
        Client::connect(&url.to_secret_string()).await
    }

    /// The meters.
    pub(crate) async fn probe(&self) -> Result<Probe> {
        Probe::open(self.place).await
    }

    /// Whether the store is Redis, which does several times as much.
    pub(crate) fn is_redis(&self) -> bool {
        self.place.engine() == "redis"
    }

    /// As many jobs as were asked for, or what suits the store.
    pub(crate) fn jobs_or(&self, redis: u64, sqlite: u64) -> u64 {
        let usual = if self.is_redis() { redis } else { sqlite };
        self.plan.jobs_or(usual)
    }

    /// Does the work, and tells the watcher how the count grows meanwhile.
    pub(crate) async fn follow<T>(
        &self,
        count: &AtomicU64,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut work = std::pin::pin!(work);
        let mut tell = tokio::time::interval(TELL_EVERY);
        loop {
            tokio::select! {
                worked = &mut work => return worked,
                _ = tell.tick() => self.progress.reached(count.load(Ordering::Relaxed)),
            }
        }
    }
}
