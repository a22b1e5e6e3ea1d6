//! What actors do, a file per role; and what they do it with.

pub(crate) mod drainer;
pub(crate) mod enqueuer;
pub(crate) mod producer;
pub(crate) mod racer;
pub(crate) mod stop;
pub(crate) mod voice;
pub(crate) mod waiter;
pub(crate) mod worker;

use std::sync::Arc;

use windlass_core::{QueueName, Result};
use windlass_store_sqlite::SqliteStore;

use crate::roles::voice::Voice;

/// Where an actor acts.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) queue: QueueName,
    pub(crate) voice: Voice,
}

impl Scene {
    /// Makes a call, and repeats it for as long as the store cannot answer: every call may be
    /// repeated, and the first answer comes back.
    pub(crate) async fn insist<T>(&self, call: impl AsyncFn() -> Result<T>) -> Result<T> {
        loop {
            match call().await {
                Err(error) if error.is_transient() => self.voice.trouble(&error),
                answer => return answer,
            }
        }
    }
}
