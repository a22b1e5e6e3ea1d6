//! A reliable job queue: a job it has accepted runs at least once, whatever dies half-way.
//!
//! A job is a type, a handler is a plain async function, and the store is a URL. This program needs
//! nothing else to run; with `sqlite:jobs.db` or `redis://…` the jobs outlive it.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use windlass::{Client, JobError, TypedJob, Worker};
//!
//! #[derive(Serialize, Deserialize, TypedJob)]
//! #[job(kind = "mail.send", output = String)]
//! struct SendMail {
//!     to: String,
//! }
//!
//! async fn send(mail: SendMail) -> Result<String, JobError> {
//!     Ok(format!("sent to {}", mail.to))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::connect("memory:").await?;
//!     let letter = client.enqueue(SendMail { to: "ann".into() }).await?;
//!     Worker::new(client.clone()).handle(send).burst().run().await?; // until nothing is left
//!     assert_eq!(client.wait(&letter).await?, "sent to ann");
//!     Ok(())
//! }
//! ```
//!
//! Every subject has a small program in the folder `examples`.
//!
//! # Map
//!
//! - [`Client`] enqueues [typed jobs](TypedJob) and raw bytes, waits for results, looks jobs up.
//! - [`Worker`] runs them. Handlers take the job, then whatever is [`FromContext`]: the [`Context`] of
//!   the attempt, shared [`Data`], the [`RawJob`]. What they return decides: a result, or a
//!   [`JobError`] that says whether and when to try again. Code [around](Worker::around) every
//!   attempt sees the [`Outcome`].
//! - [`Once`] makes an effect happen once, however often its job runs.
//! - `testing` is a store with a clock that moves when told, and a drain without threads.
//! - Below these are [`runtime`], the worker without types, and [`store`], the contract of every
//!   store with all its words, for what [`Client`] has no method for; [`open`] opens one by its
//!   URL, [`sqlite`], [`redis`] and [`memory`] are the stores themselves.
//!
//! # Features
//!
//! `derive`, `redis` and `sqlite` are on unless `default-features = false`; `testing` is for
//! `[dev-dependencies]`. Without `derive`, [`TypedJob`] is implemented by hand; without a store, its
//! URLs are refused in words.
//!
//! # What may grow
//!
//! What a program matches on or fills in and that may get more is `#[non_exhaustive]`: errors,
//! outcomes, options, settings. The words of the contract are not: a store has to carry out each of
//! them, so that one more is a new version and the compiler says where it is missing.

mod caught;
mod client;
mod context;
mod extract;
pub mod handler;
mod hook;
mod job_error;
mod once;
mod open;
mod registry;
#[cfg(feature = "testing")]
pub mod testing;
mod typed;
mod url;
mod worker;

pub use client::{Client, Enqueue, JobHandle, Raw, WaitError};
pub use context::Context;
pub use extract::{Data, FromContext, Json, Needs, RawJob};
pub use hook::Next;
pub use job_error::JobError;
pub use once::Once;
pub use open::{Existing, open, open_stores};
pub use typed::TypedJob;
pub use url::StoreUrl;
pub use worker::{Running, Worker};

#[cfg(feature = "derive")]
#[doc(inline)]
pub use windlass_derive::TypedJob;

#[doc(inline)]
pub use windlass_worker::{RetryWhen, Outcome, Role, Source, StopReason, Stopper, Summary};

#[doc(no_inline)]
pub use windlass_core::Bytes;

#[doc(inline)]
pub use windlass_core::{
    BootId, Changed, ClaimedJob, Cursor, Due, DurabilityLevel, Error, ErrorKind, Filter, Headers,
    Job, JobId, JobState, Kind, LeaseStatus, NewJob, Page, Priority, Progress, QueueName, Reason,
    Result, RetryPolicy, Store, Timestamp, Token, UniqueKey, duration,
};

/// All the words of [`Store`], the contract of every store: for what [`Client`] has no method for, and
/// for stores of your own.
///
/// ```
/// use windlass::store::{ClaimRequest, JobLease, OutcomeStatus};
/// use windlass::{Client, QueueName};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let client = Client::connect("memory:").await?;
/// client.enqueue_raw("mail", "dear Ann").await?;
/// let (store, mail) = (client.store(), QueueName::new("mail")?);
///
/// let claim = store.claim(&mail, ClaimRequest::single(1)).await?.expect("a job is ready");
/// let hold = JobLease::new(claim.jobs[0].id.clone(), claim.token);
/// let done = store.complete(&mail, vec![hold.completion().result("sent")], None).await?;
///
/// assert_eq!(done.statuses, [OutcomeStatus::Completed]);
/// let stats = store.stats(&mail).await?.expect("the queue is there");
/// assert_eq!((stats.ready, stats.succeeded), (0, 1));
/// # Ok(())
/// # }
/// ```
pub mod store {
    #[doc(inline)]
    pub use windlass_core::{
        Audited, ChangedJob, Changes, Claim, ClaimRequest, Claimer, Clock, Completed, Completion,
        Enqueued, Failure, Heartbeat, Jitter, JobLease, Keep, KeepSucceeded, Limits, Maintained,
        ManualClock, Mode, NewWorker, Notification, OutcomeStatus, Partitions, Rates, Renewal,
        Renewed, Repair, Requeue, Retry, Setting, Settings, Snooze, Stats, SystemClock, Target,
        Totals, Watch, WorkerCommand, WorkerRecord, limits,
    };
}

/// The worker without types: what [`Worker`] is built on, for handlers that are no functions.
///
/// ```
/// use std::sync::Arc;
/// use windlass::runtime::{Context, Options, Runtime};
/// use windlass::{Client, Existing, Outcome, QueueName, Source, StoreUrl, open_stores};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let url: StoreUrl = "memory:".parse()?;
/// let stores = open_stores(&url, Existing::OrCreate).await?;
/// Client::new(stores.store().clone()).enqueue_raw("mail", "dear Ann").await?;
///
/// let mut options = Options::new([Source::new(QueueName::new("mail")?)]);
/// options.is_burst = true;
/// let shout = |context: Context| async move {
///     Outcome::Done(Some(context.job().payload.to_ascii_uppercase().into()))
/// };
/// let summary = Runtime::new(stores, options, Arc::new(shout))?.run().await?;
/// assert_eq!(summary.succeeded, 1);
/// # Ok(())
/// # }
/// ```
pub mod runtime {
    #[doc(no_inline)]
    pub use windlass_worker::CancellationToken;
    #[doc(inline)]
    pub use windlass_worker::{
        AttemptFuture, CONCURRENCY_DEFAULT, CONCURRENCY_MAX, Context, GRACE_DEFAULT, Handle, Options,
        Order, Runtime, STOP_WAIT_DEFAULT, Connections, TRACE_HEADERS,
    };
}

/// The store that lives and dies with its process.
///
/// ```
/// use std::sync::Arc;
/// use windlass::{Client, memory::MemoryStore, store::SystemClock};
///
/// let client = Client::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))));
/// ```
pub mod memory {
    #[doc(inline)]
    pub use windlass_store_memory::MemoryStore;
}

/// The embedded store: one file, many processes.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use windlass::Client;
/// use windlass::sqlite::{Options, SqliteStore};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("jobs.db");
/// let mut options = Options::default();
/// options.call_deadline = Duration::from_secs(30);
/// let client = Client::new(Arc::new(SqliteStore::open(&path, options)?));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "sqlite")]
pub mod sqlite {
    #[doc(inline)]
    pub use windlass_store_sqlite::{Info, Options, SqliteStore, Synchronous};
}

/// The store for many machines: Redis or Valkey, alone, with Sentinel or as a Cluster.
///
/// ```no_run
/// use windlass::redis::{Options, RedisStore};
///
/// # async fn look() -> windlass::Result<()> {
/// let store = RedisStore::open("redis://127.0.0.1:6379/0", Options::default()).await?;
/// for server in store.facts().await?.servers {
///     println!("{}: {:?}", server.address, server.version);
/// }
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "redis")]
pub mod redis {
    #[doc(inline)]
    pub use windlass_store_redis::{Facts, Options, RedisStore, ServerFacts};
}

/// The guide is code that runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;

/// So is the program of the first page.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
