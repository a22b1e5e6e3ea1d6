//! The kit for testing programs that use Windlass: a clock that moves when told, and no threads.
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
//!     if mail.to.is_empty() { Err(JobError::permanent("nobody to send it to")) } else { Ok(()) }
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

mod alone;
mod drain;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Clock, Filter, JobState, Kind, ManualClock, Store, Timestamp};
use windlass_store_memory::MemoryStore;

pub use alone::{Alone, run};

use crate::client::Client;
use crate::typed::TypedJob;

/// Where the clock of a test stands at first: in November 2023, far from any edge.
const START: Timestamp = Timestamp::from_ms(1_700_000_000_000);

/// How many jobs a page of the queue has.
const PAGE: usize = 500;

/// A store in memory whose clock moves only when told.
///
/// What goes wrong in the kit itself is a panic: it is for tests.
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
    /// An empty store.
    #[expect(clippy::new_without_default, reason = "a store is no default value")]
    pub fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::<ManualClock>::clone(&clock)));
        let client = Client::new(store);
        Self { clock, client }
    }

    /// A client of the store.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// What the clock of the store says.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.clock.now_us() / 1_000)
    }

    /// Moves the clock of the store.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// The jobs of a type that wait, in any queue: ready ones first, in the order they would run in
    /// their queue, then scheduled ones.
    pub async fn enqueued<J: TypedJob>(&self) -> Vec<J> {
        let store = self.client.store();
        let kind = Some(Kind::new(J::KIND).expect("the kind of the job is valid"));
        let mut found = Vec::new();
        for state in [JobState::Ready, JobState::Scheduled] {
            let filter = Filter {
                state: Some(state),
                kind: kind.clone(),
            };
            for queue in store.queues().await.expect("the store answers") {
                let mut from = None;
                loop {
                    let page = store.list(&queue, &filter, from, PAGE).await;
                    let page = page.expect("the store answers");
                    for job in page.items {
                        let job = store.get(&queue, &job.id).await.expect("the store answers");
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

    /// Panics unless a job of this type waits that `is_meant`.
    pub async fn assert_enqueued<J: TypedJob>(&self, is_meant: impl Fn(&J) -> bool) {
        let jobs = self.enqueued::<J>().await;
        assert!(
            jobs.iter().any(is_meant),
            "none of the {} waiting jobs of kind {:?} is the one that was expected",
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
