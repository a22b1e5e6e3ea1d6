//! Utilities for tests of programs that use Windlass: a manual clock, and no background tasks.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use windlass::testing::Testing;
//! use windlass::{JobError, TypedJob, Worker};
//!
//! #[derive(Serialize, Deserialize, TypedJob)]
//! #[job(kind = "mail.send")]
//! struct SendMail { to: String }
//!
//! async fn send(mail: SendMail) -> Result<(), JobError> {
//!     if mail.to.is_empty() { Err(JobError::permanent("no recipient")) } else { Ok(()) }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> windlass::Result<()> {
//! let testing = Testing::new();
//! let client = testing.client();
//! client.enqueue(SendMail { to: "ann".into() }).await?;
//! client.enqueue(SendMail { to: "".into() }).await?;
//! testing.assert_enqueued::<SendMail>(|mail| mail.to == "ann").await;
//!
//! let summary = testing.drain(&Worker::new(client.clone()).handle(send)).await;
//! assert_eq!((summary.succeeded, summary.dead), (1, 1));
//! # Ok(())
//! # }
//! ```

mod drain;
mod run_handler;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::Kind;
use windlass_core::{Clock, Filter, JobState, ManualClock, Store, Timestamp};
use windlass_store_memory::MemoryStore;

pub use run_handler::{HandlerRun, run};

use crate::client::Client;
use crate::typed::TypedJob;

/// The initial time of the clock: November 2023, far from any limit.
const START: Timestamp = Timestamp::from_ms(1_700_000_000_000);

/// How many jobs to list at once.
const PAGE: usize = 500;

/// A memory store with a manual clock.
///
/// Its methods panic on errors, since it is for tests.
///
/// ```
/// use std::time::Duration;
/// use windlass::testing::Testing;
///
/// let testing = Testing::new();
/// let began = testing.now();
/// testing.advance(Duration::from_secs(60));
/// assert_eq!(testing.now().since(began), Duration::from_secs(60));
/// ```
pub struct Testing {
    clock: Arc<ManualClock>,
    client: Client,
}

impl Testing {
    /// Creates an empty store.
    #[expect(clippy::new_without_default, reason = "a store is not a default value")]
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock)));
        let client = Client::new(store);
        Self { clock, client }
    }

    /// Returns a client of the store.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the time of the store's clock.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.now_us() / 1_000)
    }

    /// Advances the store's clock.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Returns the waiting jobs of a type, in all queues: ready ones first, in the order of their queue,
    /// then scheduled and pending ones.
    pub async fn enqueued<J: TypedJob>(&self) -> Vec<J> {
        let store = self.client.store();
        let kind = Some(Kind::new(J::KIND).expect("the kind of the job is valid"));
        let mut found = Vec::new();
        for state in [JobState::Ready, JobState::Scheduled, JobState::Pending] {
            let filter = Filter {
                state: Some(state),
                kind: kind.clone(),
                ..Filter::default()
            };
            for queue in store.queues().await.expect("the store replies") {
                let mut from = None;
                loop {
                    let page = store.list(&queue, &filter, from, PAGE).await;
                    let page = page.expect("the store replies");
                    for job in page.items {
                        let job = store.get(&queue, &job.id).await.expect("the store replies");
                        let payload = job.and_then(|job| job.payload).unwrap_or_default();
                        let job = serde_json::from_slice(&payload);
                        found.push(job.expect("the payload is a job of its kind"));
                    }
                    from = page.next;
                    if from.is_none() {
                        break;
                    }
                }
            }
        }
        found
    }

    /// Panics unless a waiting job of this type matches.
    pub async fn assert_enqueued<J: TypedJob>(&self, matches: impl Fn(&J) -> bool) {
        let jobs = self.enqueued::<J>().await;
        assert!(
            jobs.iter().any(matches),
            "none of the {} waiting jobs of kind {:?} matches",
            jobs.len(),
            J::KIND
        );
    }
}

impl fmt::Debug for Testing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Testing")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
