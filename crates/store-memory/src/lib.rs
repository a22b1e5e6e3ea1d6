//! The executable specification of a Windlass store: everything in memory, written to be read.
//!
//! Each verb is a plain function on a [`queue::Queue`]: it gets one reading of the clock and
//! changes the state in one step. Other stores must answer the same; the testkit compares them.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::{ClaimRequest, NewJob, QueueName, Store, SystemClock};
//! use windlass_store_memory::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! let store = MemoryStore::new(Arc::new(SystemClock));
//! let mail = QueueName::new("mail")?;
//! store.enqueue(&mail, vec![NewJob::new("hello")]).await?;
//! let claim = store.claim(&mail, ClaimRequest::single(1)).await?.expect("a job is ready");
//! assert_eq!(claim.jobs[0].payload.as_ref(), b"hello");
//! # Ok(()) }
//! ```
//!
//! # Map
//!
//! [`queue`] holds the state and the moves between places; then one file per verb or family:
//! `enqueue`, `claim`, `renew`, `settle`, `change`; `reap`, `finish` and `upkeep` are what happens
//! by itself; `workers` is the registry, `look` what readers see, `store` the contract's methods.

mod change;
mod claim;
mod dump;
mod enqueue;
mod finish;
mod look;
pub mod queue;
mod reap;
mod renew;
mod settle;
mod store;
mod upkeep;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::notification::Notifier;
use windlass_core::time::Now;
use windlass_core::{Clock, Limits, QueueName};

use crate::queue::Queue;
use crate::workers::Registry;

/// A store that lives and dies with its process.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
    hints: Notifier,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    queues: BTreeMap<QueueName, Queue>,
    workers: Registry,
}

/// Whether a verb makes a queue that does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It does.
    Create,
    /// It sees an empty queue and leaves nothing behind.
    Pretend,
}

impl MemoryStore {
    /// An empty store that reads its time from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Arc::default(),
            clock,
            hints: Notifier::default(),
            limits: Limits::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held is a bug already reported; the state is still the truth.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one step on a queue: reads the clock once, changes the state, passes on the hints.
    fn step<T>(
        &self,
        name: &QueueName,
        missing: Missing,
        verb: impl FnOnce(&mut Queue, Now) -> T,
    ) -> T {
        self.step_locked(&mut self.lock(), name, missing, verb)
    }

    fn step_locked<T>(
        &self,
        state: &mut State,
        name: &QueueName,
        missing: Missing,
        verb: impl FnOnce(&mut Queue, Now) -> T,
    ) -> T {
        let mut pretended = Queue::new(name.clone());
        let queue = match missing {
            Missing::Create => state
                .queues
                .entry(name.clone())
                .or_insert_with(|| Queue::new(name.clone())),
            Missing::Pretend => state.queues.get_mut(name).unwrap_or(&mut pretended),
        };
        let now = queue.begin(self.clock.now_us());
        let reply = verb(queue, now);
        for hint in queue.end(now) {
            self.hints.send(hint);
        }
        reply
    }
}
