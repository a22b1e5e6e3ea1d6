//! The executable specification of a Windlass store: in memory, and written to be read.
//!
//! Each verb is a plain function on the state of a queue. It gets the current time and changes the
//! state in one transaction. Every other store must return the same replies; the testkit compares them.
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
//! `queue` holds the state of a queue and its transitions. There is one file per verb or family of
//! verbs: `enqueue`, `claim`, `renew`, `outcome`, `change`. `reap`, `finish` and `maintenance` reclaim,
//! finish and prune jobs. `workers` is the worker registry, `read` has the read-only verbs, and `store`
//! implements the `Store` trait.

mod change;
mod claim;
mod dump;
mod enqueue;
mod finish;
mod maintenance;
mod outcome;
mod queue;
mod read;
mod reap;
mod renew;
mod store;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::notification::Notifier;
use windlass_core::time::Now;
use windlass_core::{Clock, Limits, QueueName};

use crate::queue::Queue;
use crate::workers::Registry;

/// A store in the memory of the process.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
    notifier: Notifier,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    queues: BTreeMap<QueueName, Queue>,
    workers: Registry,
}

/// What a verb does if the queue does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// Creates the queue.
    Create,
    /// Runs on an empty queue, which is then discarded.
    UseEmpty,
}

impl MemoryStore {
    /// Creates an empty store that reads the time from `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            state: Arc::default(),
            clock,
            notifier: Notifier::default(),
            limits: Limits::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in another thread was already reported; the state is still usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a verb on a queue: reads the clock once, changes the state, sends the notifications.
    fn transaction<T>(
        &self,
        name: &QueueName,
        missing: Missing,
        verb: impl FnOnce(&mut Queue, Now) -> T,
    ) -> T {
        self.transaction_locked(&mut self.lock(), name, missing, verb)
    }

    fn transaction_locked<T>(
        &self,
        state: &mut State,
        name: &QueueName,
        missing: Missing,
        verb: impl FnOnce(&mut Queue, Now) -> T,
    ) -> T {
        let mut empty = Queue::new(name.clone());
        let queue = match missing {
            Missing::Create => state
                .queues
                .entry(name.clone())
                .or_insert_with(|| Queue::new(name.clone())),
            Missing::UseEmpty => state.queues.get_mut(name).unwrap_or(&mut empty),
        };
        let now = queue.begin(self.clock.now_us());
        let reply = verb(queue, now);
        for notification in queue.end(now) {
            self.notifier.send(notification);
        }
        reply
    }
}
