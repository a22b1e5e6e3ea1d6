//! A reliable job queue: every accepted job runs at least once, even if workers crash.
//!
//! A job is a type, a handler is a plain async function, and the store is a URL. The program below
//! needs no server; with `sqlite:jobs.db` or `redis://…` its jobs survive a restart.
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
//!     Worker::new(client.clone()).handle(send).burst().run().await?; // until the queue is empty
//!     assert_eq!(client.wait(&letter).await?, "sent to ann");
//!     Ok(())
//! }
//! ```
//!
//! The `examples` folder has a small program for each feature.
//!
//! # Map
//!
//! - [`Client`] enqueues [typed jobs](TypedJob) and raw bytes, waits for results and looks up jobs.
//! - [`Worker`] runs them. A handler takes the job, followed by [extractors](extract): the [`Context`] of
//!   the attempt, shared [`Data`], the [`RawJob`]. It returns a result, or a [`JobError`] that decides
//!   whether and when to retry. [Middleware](Worker::middleware) wraps every attempt and sees its
//!   [`Outcome`].
//! - [`Schedule`] enqueues a job by a cron pattern or an interval.
//! - [`Once`] makes an effect happen once, however often its job runs.
//! - `testing` has a store with a manual clock, and runs jobs without background tasks.
//! - Lower-level modules: [`runtime`] is the untyped worker, [`store`] the interface that every store
//!   implements, for operations without a [`Client`] method. [`open`] opens a store by its URL;
//!   [`sqlite`], [`redis`] and [`memory`] are the stores themselves.
//!
//! # Features
//!
//! `derive`, `redis` and `sqlite` are enabled by default; enable `testing` in `[dev-dependencies]`.
//! Without `derive`, implement [`TypedJob`] by hand. Opening a URL of a store that is not compiled in
//! returns an error.
//!
//! # Stability
//!
//! Types that may gain variants or fields are `#[non_exhaustive]`: errors, outcomes, options, settings.
//! The types of the store interface are not: every store must handle all of them, so an addition is
//! a breaking change.

pub mod client;
mod context;
pub mod extract;
pub mod handler;
mod job_error;
mod middleware;
mod once;
mod open;
mod registry;
mod schedule;
#[cfg(feature = "testing")]
pub mod testing;
mod typed;
mod url;
mod worker;

#[doc(inline)]
pub use client::{Client, JobHandle, WaitError};
pub use context::Context;
#[doc(inline)]
pub use extract::{Data, Json, RawJob};
pub use job_error::JobError;
pub use middleware::Next;
pub use once::Once;
pub use open::{OpenMode, open};
pub use schedule::ScheduleBuilder as Schedule;
pub use typed::TypedJob;
pub use url::StoreUrl;
pub use worker::Worker;

#[cfg(feature = "derive")]
#[doc(inline)]
pub use windlass_derive::TypedJob;

#[doc(inline)]
pub use windlass_worker::Outcome;

#[doc(no_inline)]
pub use windlass_core::Bytes;

#[doc(inline)]
pub use windlass_core::{
    Due, Error, ErrorKind, Job, JobId, JobState, NewJob, Priority, QueueName, Result, RetryPolicy,
    Store, Timestamp, duration,
};

#[doc(inline)]
pub use windlass_core::duplicate::{OnDuplicate, UniqueUntil};

/// The types of [`Store`], the interface that every store implements: for operations without a
/// [`Client`] method, and for custom stores.
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
/// let lease = JobLease::new(claim.jobs[0].id.clone(), claim.token);
/// let done = store.complete(&mail, vec![lease.completion().result("sent")], None).await?;
///
/// assert_eq!(done.statuses, [OutcomeStatus::Completed]);
/// let stats = store.stats(&mail).await?.expect("the queue exists");
/// assert_eq!((stats.ready, stats.succeeded), (0, 1));
/// # Ok(())
/// # }
/// ```
pub mod store {
    #[doc(inline)]
    pub use windlass_core::limits;
    #[doc(inline)]
    pub use windlass_core::store::*;
}

/// The untyped worker that [`Worker`] is built on, for handlers that are not functions.
///
/// ```
/// use std::sync::Arc;
/// use windlass::runtime::{AttemptContext, Options, Runtime, Source, open_connections};
/// use windlass::{Client, OpenMode, Outcome, QueueName, StoreUrl};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> windlass::Result<()> {
/// let url: StoreUrl = "memory:".parse()?;
/// let connections = open_connections(&url, OpenMode::CreateIfMissing).await?;
/// Client::new(connections.store().clone()).enqueue_raw("mail", "dear Ann").await?;
///
/// let mut options = Options::new([Source::new(QueueName::new("mail")?)]);
/// options.is_burst = true;
/// let shout = |context: AttemptContext| async move {
///     Outcome::Done(Some(context.job().payload.to_ascii_uppercase().into()))
/// };
/// let summary = Runtime::new(connections, options, Arc::new(shout))?.run().await?;
/// assert_eq!(summary.succeeded, 1);
/// # Ok(())
/// # }
/// ```
pub mod runtime {
    #[doc(no_inline)]
    pub use windlass_worker::CancellationToken;
    #[doc(inline)]
    pub use windlass_worker::{
        AttemptContext, AttemptFuture, CONCURRENCY_DEFAULT, CONCURRENCY_MAX, Connections,
        GRACE_DEFAULT, Handle, Options, Order, Outage, RetryWhen, Role, Runtime, STOP_WAIT_DEFAULT,
        Source, StopReason, Stopper, StoreCaller, Summary, TRACE_HEADERS,
    };

    pub use crate::open::open_connections;
    pub use crate::worker::RunningWorker;
}

/// The in-memory store: its jobs are lost when the process ends.
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

/// The embedded store: one SQLite file, shared by many processes.
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
    pub use windlass_store_sqlite::{
        Compacted, Info, Options, SqliteStore, StoreFile, Synchronous, files,
    };
}

/// The store for many machines: Redis or Valkey, standalone, with Sentinel or as a Cluster.
///
/// ```no_run
/// use windlass::redis::{Options, RedisStore};
///
/// # async fn show() -> windlass::Result<()> {
/// let store = RedisStore::open("redis://127.0.0.1:6379/0", Options::default()).await?;
/// for server in store.info().await?.servers {
///     println!("{}: {:?}", server.address, server.version);
/// }
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "redis")]
pub mod redis {
    #[doc(inline)]
    pub use windlass_store_redis::{MigratedPage, Options, RedisInfo, RedisStore, ServerInfo};
}

/// Runs the code of the library guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;

/// Runs the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
