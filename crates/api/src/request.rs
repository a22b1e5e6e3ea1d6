//! What doors are asked: one type per verb, read from JSON and answered by the store.
//!
//! A door takes `op` and `queue` out of what it got (a line, a path, a body), reads the rest as the
//! verb's own type, and shows the answer. Nothing is decided here that the store does not decide.

mod change;
mod claim;
mod enqueue;
mod maintenance;
mod outcome;
mod queue;
mod read;
mod worker;

use std::future::Future;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::{QueueName, Store};

use crate::error::Error;

pub use change::{Cancel, ChangeAnswer, Delete, Promote, Retry, Which, filter};
pub use claim::{Accept, Claim, Progress, Renew};
pub use enqueue::{Enqueue, EnqueueAll, EnqueueAnswer};
pub use maintenance::{Audit, AuditReply, Maintain};
pub use outcome::{Complete, Fail, Release, SettleAnswer, Snooze};
pub use queue::{Pause, Purge, PurgeReply, Queues, Resume, Set, ShowSettings, Stats};
pub use read::{Get, List, ListReply, Wait, WaitReply};
pub use worker::{
    CommandWorker, CommandWorkerReply, FailWorker, FailWorkerReply, Heartbeat, HeartbeatReply,
    Leave, LeaveReply, Register, RegisterReply, Workers,
};

/// An answer, or why there is none.
pub type Answer<T> = Result<T, Error>;

/// A verb on one queue.
pub trait QueueRequest: DeserializeOwned + JsonSchema + Send + 'static {
    /// The verb's word, the same at every door.
    const OP: &'static str;
    /// What it answers.
    type Reply: Serialize + JsonSchema + Send;

    /// Asks the store.
    fn answer(
        self,
        store: &dyn Store,
        queue: &QueueName,
    ) -> impl Future<Output = Answer<Self::Reply>> + Send;
}

/// A verb on the whole store.
pub trait StoreRequest: DeserializeOwned + JsonSchema + Send + 'static {
    /// The verb's word, the same at every door.
    const OP: &'static str;
    /// What it answers.
    type Reply: Serialize + JsonSchema + Send;

    /// Asks the store.
    fn answer(self, store: &dyn Store) -> impl Future<Output = Answer<Self::Reply>> + Send;
}
