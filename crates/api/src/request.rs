//! What doors are asked: one type per verb, read from JSON and answered by the store.
//!
//! A door takes `op` and `queue` out of what it got (a line, a path, a body), reads the rest as the
//! verb's own type, and shows the answer. Nothing is decided here that the store does not decide.

mod change;
mod hold;
mod look;
mod put;
mod queue;
mod settle;
mod upkeep;
mod worker;

use std::future::Future;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::{QueueName, Store};

use crate::problem::Problem;

pub use change::{Cancel, ChangeAnswer, Delete, Promote, Retry, Which, filter};
pub use hold::{Accept, Claim, Progress, Renew};
pub use look::{Get, List, ListReply, Wait, WaitReply};
pub use put::{Enqueue, EnqueueAll, EnqueueAnswer};
pub use queue::{Pause, Purge, PurgeReply, Queues, Resume, Set, ShowSettings, Stats};
pub use settle::{Complete, Fail, Release, SettleAnswer, Snooze};
pub use upkeep::{Audit, AuditReply, Maintain};
pub use worker::{
    Beat, BeatReply, FailWorker, FailWorkerReply, Leave, LeaveReply, Register, RegisterReply, Tell,
    TellReply, Workers,
};

/// An answer, or why there is none.
pub type Answer<T> = Result<T, Problem>;

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
