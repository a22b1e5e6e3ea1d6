//! What a bridge asks of an older system.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::Result;

use super::{blueque, redis_work_queue, worqr};
use crate::Server;

/// Where work comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum From {
    /// A queue of redis-work-queue.
    RedisWorkQueue {
        /// What its keys begin with.
        prefix: String,
        /// Which names they have.
        layout: crate::redis_work_queue::Layout,
    },
    /// A queue of Worqr.
    Worqr {
        /// The queue.
        queue: String,
        /// Where its keys are.
        settings: crate::worqr::Settings,
    },
    /// A queue of Blueque.
    Blueque {
        /// The queue.
        queue: String,
        /// Which names its keys have.
        layout: crate::blueque::Layout,
    },
}

impl From {
    pub(super) async fn join(&self, server: &Server) -> Result<Box<dyn Origin>> {
        Ok(match self {
            Self::RedisWorkQueue { prefix, layout } => {
                Box::new(redis_work_queue::Leaser::new(server, prefix, *layout))
            }
            Self::Worqr { queue, settings } => {
                Box::new(worqr::Hand::join(server, queue, settings.clone()).await?)
            }
            Self::Blueque { queue, layout } => {
                Box::new(blueque::Ear::join(server, queue, *layout).await?)
            }
        })
    }

    /// Whether producers choose the ids, and so may choose one again; the others draw them.
    pub(super) fn has_ids_of_producers(&self) -> bool {
        matches!(self, Self::RedisWorkQueue { .. })
    }
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RedisWorkQueue { prefix, .. } => write!(f, "redis-work-queue:{prefix}"),
            Self::Worqr { queue, .. } => write!(f, "worqr:{queue}"),
            Self::Blueque { queue, .. } => write!(f, "blueque:{queue}"),
        }
    }
}

/// One piece of work that is held for us.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// The id that the older system has for it.
    pub(super) id: String,
    /// The work itself.
    pub(super) data: Bytes,
}

/// What came of looking for work.
#[derive(Debug)]
pub(super) enum Took {
    /// A piece of work, which is ours now.
    One(Taken),
    /// There is none.
    Nothing,
    /// We were taken for dead and are a new worker now: what was held before is held no more.
    Anew,
}

/// An older system, with us as one of its workers.
#[async_trait]
pub(super) trait Origin: fmt::Debug + Send + Sync {
    /// Takes one, or waits for one.
    async fn take(&mut self, wait: Duration) -> Result<Took>;

    /// Whether something that was taken is still ours; asked after trouble.
    async fn holds(&mut self, taken: &Taken) -> Result<bool>;

    /// Finishes what was taken. Somebody else may have done so: that is no trouble.
    async fn done(&mut self, taken: &Taken) -> Result<()>;

    /// Brings back what dead workers held, and makes due what is due.
    async fn clean(&mut self) -> Result<()>;

    /// Is a worker no more.
    async fn leave(self: Box<Self>) -> Result<()>;
}
