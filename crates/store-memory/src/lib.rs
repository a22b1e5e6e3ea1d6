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
//! verbs: `enqueue`, `claim`, `renew`, `outcome`, `change`, `schedule`. `reap`, `finish` and `maintenance` reclaim,
//! finish and prune jobs; `limit` and `group` decide which may start; `history` takes samples, `errors` records failed attempts. `explain` says what keeps a job from starting. `workers` is the worker registry, `actions` the log of operator actions, `read` has the other read-only verbs, and `store`
//! implements the `Store` trait.

mod actions;
mod change;
mod claim;
#[cfg(feature = "dump")]
mod dump;
mod enqueue;
mod errors;
mod explain;
mod finish;
mod group;
mod history;
mod limit;
mod maintenance;
mod outcome;
mod queue;
mod read;
mod reap;
mod renew;
mod schedule;
mod store;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::notification::Notifier;
use windlass_core::store::Limits;
use windlass_core::time::Now;
use windlass_core::{Clock, QueueName};

use crate::actions::Actions;
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
    /// The number of the last token of each deleted queue: no number is issued twice.
    deleted: BTreeMap<QueueName, u64>,
    workers: Registry,
    actions: Actions,
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

    /// Runs a verb on a queue in one transaction. A missing queue is empty, and discarded afterwards.
    fn on_queue<T>(&self, name: &QueueName, verb: impl FnOnce(&mut Queue) -> T) -> T {
        self.on_queue_of(&mut self.lock(), name, verb)
    }

    fn on_queue_of<T>(
        &self,
        state: &mut State,
        name: &QueueName,
        verb: impl FnOnce(&mut Queue) -> T,
    ) -> T {
        match state.queues.get_mut(name) {
            Some(queue) => self.transaction(queue, verb),
            None => self.transaction(&mut Queue::new(name.clone()), verb),
        }
    }

    /// Runs a verb on a queue in one transaction. A missing queue is created.
    fn on_created_queue<T>(&self, name: &QueueName, verb: impl FnOnce(&mut Queue) -> T) -> T {
        self.transaction(self.lock().create_queue(name), verb)
    }

    /// Reads the clock once, changes the state, sends the notifications.
    fn transaction<T>(&self, queue: &mut Queue, verb: impl FnOnce(&mut Queue) -> T) -> T {
        queue.begin(self.clock.now_us());
        let reply = verb(queue);
        for notification in queue.end() {
            self.notifier.send(notification);
        }
        reply
    }

    /// Reads a queue, if it exists.
    fn read<T>(&self, name: &QueueName, read: impl FnOnce(&Queue, Now) -> T) -> Option<T> {
        let state = self.lock();
        let queue = state.queues.get(name)?;
        Some(read(queue, Now::guard(queue.mark_us, self.clock.now_us())))
    }
}

impl State {
    /// Creates the queue unless it exists.
    fn create_queue(&mut self, name: &QueueName) -> &mut Queue {
        let queue = self.queues.entry(name.clone());
        queue.or_insert_with(|| {
            let mut queue = Queue::new(name.clone());
            queue.last_token = self.deleted.remove(name).unwrap_or_default();
            queue
        })
    }
}
