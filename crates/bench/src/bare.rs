//! The bare engine: the same work without any guarantees.

mod blocking_pop;
mod redis;
mod sqlite;

use windlass::Result;

pub(crate) use blocking_pop::blocking_pop;
use redis::BareRedis;
use sqlite::BareSqlite;

use crate::plan::LoadPlan;
use crate::target::LoadTarget;
use crate::tasks::Tasks;

/// Concurrent callers of pipelined calls.
pub(crate) const PIPELINED: usize = 4;

/// A minimal hand-written queue on the engine of a target.
#[derive(Debug)]
pub(crate) enum Bare {
    Redis(BareRedis),
    Sqlite(BareSqlite),
}

impl Bare {
    /// `None` if the target is not a single plain server or file.
    pub(crate) async fn open(
        target: &LoadTarget,
        plan: &LoadPlan,
        tasks: &Tasks,
    ) -> Result<Option<Self>> {
        if let Some(path) = target.path() {
            let engine = BareSqlite::open(path, plan.payload).await?;
            return Ok(Some(Self::Sqlite(engine)));
        }
        let engine = BareRedis::open(target.url(), plan.payload, tasks.clone()).await?;
        Ok(engine.map(Self::Redis))
    }

    /// Enqueues batches from `callers` callers. Returns jobs per second; `None` for several callers on
    /// SQLite, which has one writer.
    pub(crate) async fn enqueue(
        &mut self,
        jobs: u64,
        batch: usize,
        callers: usize,
    ) -> Result<Option<f64>> {
        match self {
            Self::Redis(engine) => engine.enqueue(jobs, batch, callers).await.map(Some),
            Self::Sqlite(engine) if callers == 1 => engine.enqueue(jobs, batch).await.map(Some),
            Self::Sqlite(_) => Ok(None),
        }
    }

    /// Enqueues jobs one by one, with one caller on SQLite. Returns jobs per second.
    pub(crate) async fn enqueue_singly(&mut self, jobs: u64, callers: usize) -> Result<f64> {
        match self {
            Self::Redis(engine) => engine.enqueue(jobs, 1, callers).await,
            Self::Sqlite(engine) => engine.enqueue(jobs, 1).await,
        }
    }

    /// Finishes and fetches jobs from `callers` callers until none is left. Returns jobs per second.
    pub(crate) async fn drain(&mut self, batch: usize, callers: usize) -> Result<Option<f64>> {
        match self {
            Self::Redis(engine) => engine.drain(batch, callers).await.map(Some),
            Self::Sqlite(engine) if callers == 1 => engine.drain(batch).await.map(Some),
            Self::Sqlite(_) => Ok(None),
        }
    }

    /// Deletes all jobs.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        match self {
            Self::Redis(engine) => engine.clear().await,
            Self::Sqlite(engine) => engine.clear().await,
        }
    }
}
