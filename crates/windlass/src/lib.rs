//! A reliable job queue: what programs add to use Windlass.
//!
//! ```
//! use windlass::{ClaimRequest, Existing, Hold, NewJob, QueueName, StoreUrl};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> windlass::Result<()> {
//!     let url: StoreUrl = "memory:".parse()?; // or sqlite:jobs.db, redis://…
//!     let store = windlass::open(&url, Existing::OrCreate).await?;
//!     let mail = QueueName::new("mail")?;
//!     store.enqueue(&mail, vec![NewJob::new("dear Ann")]).await?;
//!
//!     if let Some(claim) = store.claim(&mail, ClaimRequest::single(10)).await? {
//!         for job in &claim.jobs {
//!             println!("{}", String::from_utf8_lossy(&job.payload));
//!             let done = Hold::new(job.id.clone(), claim.token).completion();
//!             store.complete(&mail, vec![done], None).await?;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Map
//!
//! [`StoreUrl`] names a store and [`open`] opens it; [`Store`] is what every store does; [`NewJob`],
//! [`ClaimRequest`] and [`Hold`] are what one hands to it. [`sqlite`], [`redis`] and [`memory`] are
//! the stores themselves, for programs that want one in particular.

mod open;
mod url;

pub use open::{Existing, open};
pub use url::StoreUrl;

pub use windlass_core::{
    Audited, Beat, BootId, Bytes, Changed, ChangedJob, Changes, Claim, ClaimRequest, ClaimedJob,
    Claimer, Clock, Completed, Completion, Cursor, Due, Enqueued, Error, ErrorKind, Failure,
    Filter, Headers, Held, Hint, Hold, Jitter, Job, JobId, JobState, Keep, KeepSucceeded, Kind,
    Level, Limits, Maintained, ManualClock, Mode, NewJob, NewWorker, Page, Partitions, Priority,
    Progress, QueueName, Rates, Reason, Renewal, Renewed, Repair, Requeue, Result, Retry,
    RetryPolicy, Setting, Settings, Settled, Snooze, Stats, Store, SystemClock, Target, Timestamp,
    Token, Told, Totals, UniqueKey, Watch, Worker, duration, limits,
};

/// The store that lives and dies with its process.
pub mod memory {
    pub use windlass_store_memory::MemoryStore;
}

/// The embedded store: one file, many processes.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use windlass_store_sqlite::{Info, Options, SqliteStore, Synchronous};
}

/// The store for many machines: Redis or Valkey, alone, with Sentinel or as a Cluster.
#[cfg(feature = "redis")]
pub mod redis {
    pub use windlass_store_redis::{Facts, Options, RedisStore, ServerFacts};
}
