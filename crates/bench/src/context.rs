//! What a scenario works with.

use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use windlass::{Client, NewJob, Result, StoreUrl};

use crate::load::{enqueue_bulk, payload};
use crate::plan::LoadPlan;
use crate::probe::Probe;
use crate::processes::WorkerProcesses;
use crate::progress::ProgressReport;
use crate::target::LoadTarget;
use crate::tasks::Tasks;

/// How often progress is reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// One target and its plan.
pub(crate) struct BenchContext<'a> {
    pub(crate) target: &'a LoadTarget,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) tasks: &'a Tasks,
    pub(crate) progress: &'a dyn ProgressReport,
    /// The program to start as a worker process, with the subcommand `bench-worker`.
    pub(crate) program: &'a Path,
    pub(crate) processes: &'a Mutex<WorkerProcesses>,
}

impl BenchContext<'_> {
    /// Opens a client.
    pub(crate) async fn client(&self, url: &StoreUrl) -> Result<Client> {
        Client::connect(&url.to_secret_string()).await
    }

    /// Enqueues no-op jobs.
    pub(crate) async fn fill(&self, url: &StoreUrl, jobs: u64) -> Result<()> {
        let client = self.client(url).await?;
        let body = payload(self.plan.payload);
        let filled = enqueue_bulk(self, &client, jobs, move |_| NewJob::new(body.clone()));
        filled.await.map(drop)
    }

    /// Opens the probe of the target.
    pub(crate) async fn probe(&self) -> Result<Probe> {
        Probe::open(self.target).await
    }

    /// Whether the store is Redis, which gets more jobs per run because it is faster.
    pub(crate) fn is_redis(&self) -> bool {
        self.target.engine() == "redis"
    }

    /// The requested number of jobs, or the default for the store.
    pub(crate) fn jobs_or(&self, redis: u64, sqlite: u64) -> u64 {
        let default = if self.is_redis() { redis } else { sqlite };
        self.plan.jobs_or(default)
    }

    /// Runs `work` and reports `count` as progress meanwhile.
    pub(crate) async fn follow<T>(
        &self,
        count: &AtomicU64,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval(REPORT_INTERVAL);
        loop {
            tokio::select! {
                result = &mut work => return result,
                _ = ticks.tick() => self.progress.reached(count.load(Ordering::Relaxed)),
            }
        }
    }
}
