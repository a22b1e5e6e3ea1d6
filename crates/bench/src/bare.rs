//! The bare engine: what the same work costs where nothing is promised.

mod hand_over;
mod redis;
mod sqlite;

use windlass::Result;

pub(crate) use hand_over::hand_over;
use redis::BareRedis;
use sqlite::BareSqlite;

use crate::place::Place;
use crate::plan::Plan;
use crate::tasks::Tasks;

/// Callers at once where calls are pipelined.
pub(crate) const PIPELINED: usize = 4;

/// A queue as one would write it by hand on the engine of a place; empty.
#[derive(Debug)]
pub(crate) enum Bare {
    Redis(BareRedis),
    Sqlite(BareSqlite),
}

impl Bare {
    /// Nothing where the place is not one plain server or file.
    pub(crate) async fn open(place: &Place, plan: &Plan, tasks: &Tasks) -> Result<Option<Self>> {
        if let Some(path) = place.path() {
            let engine = BareSqlite::open(path, plan.payload).await?;
            return Ok(Some(Self::Sqlite(engine)));
        }
        let engine = BareRedis::open(place.url(), plan.payload, tasks.clone()).await?;
        Ok(engine.map(Self::Redis))
    }

    /// Puts jobs in by so many callers, in batches; jobs a second. SQLite has one writer only.
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

    /// Puts jobs in one by one, as many callers as SQLite and Redis do best with.
    pub(crate) async fn enqueue_singly(&mut self, jobs: u64, callers: usize) -> Result<f64> {
        match self {
            Self::Redis(engine) => engine.enqueue(jobs, 1, callers).await,
            Self::Sqlite(engine) => engine.enqueue(jobs, 1).await,
        }
    }

    /// Finishes and takes by so many callers until none is left; jobs a second.
    pub(crate) async fn drain(&mut self, batch: usize, callers: usize) -> Result<Option<f64>> {
        match self {
            Self::Redis(engine) => engine.drain(batch, callers).await.map(Some),
            Self::Sqlite(engine) if callers == 1 => engine.drain(batch).await.map(Some),
            Self::Sqlite(_) => Ok(None),
        }
    }

    /// Forgets all jobs.
    pub(crate) async fn clear(&mut self) -> Result<()> {
        match self {
            Self::Redis(engine) => engine.clear().await,
            Self::Sqlite(engine) => engine.clear().await,
        }
    }
}
