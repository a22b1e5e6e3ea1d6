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
//! The derive is the feature `derive`; without it [`TypedJob`] is implemented by hand. Every feature
//! has a small program in the folder `examples`.
//!
//! # Map
//!
//! - [`Client`] enqueues [typed jobs](TypedJob) and raw bytes, waits for results, looks jobs up.
//! - [`Worker`] runs them. Handlers take the job, then whatever is [`FromContext`]: the [`Context`] of
//!   the attempt, shared [`Data`], the [`RawJob`]. What they return decides: a result, or a
//!   [`JobError`] that says whether and when to try again. Code [around](Worker::around) every
//!   attempt sees the [`Outcome`].
//! - [`Once`] makes an effect happen once, however often its job runs.
//! - `testing` (a feature) is a store with a clock that moves when told, and a drain without threads.
//! - Below these are [`runtime`], the worker without types, and [`Store`], the contract of every
//!   store, opened by [`open`]; [`sqlite`], [`redis`] and [`memory`] are the stores themselves.

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

pub use client::{Client, Enqueue, Handle, Raw, WaitError};
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
pub use windlass_derive::TypedJob;

pub use windlass_worker::{Again, Order, Outcome, Role, Source, StopReason, Stopper, Summary};

/// A worker as a store knows it.
#[doc(inline)]
pub use windlass_core::Worker as KnownWorker;

pub use windlass_core::{
    Audited, Beat, BootId, Bytes, Changed, ChangedJob, Changes, Claim, ClaimRequest, ClaimedJob,
    Claimer, Clock, Completed, Completion, Cursor, Due, Enqueued, Error, ErrorKind, Failure,
    Filter, Headers, Held, Hint, Hold, Jitter, Job, JobId, JobState, Keep, KeepSucceeded, Kind,
    Level, Limits, Maintained, ManualClock, Mode, NewJob, NewWorker, Page, Partitions, Priority,
    Progress, QueueName, Rates, Reason, Renewal, Renewed, Repair, Requeue, Result, Retry,
    RetryPolicy, Setting, Settings, Settled, Snooze, Stats, Store, SystemClock, Target, Timestamp,
    Token, Told, Totals, UniqueKey, Watch, duration, limits,
};

/// The worker without types: what [`Worker`] is built on, for handlers that are no functions.
pub mod runtime {
    pub use windlass_worker::{
        Attempt, CONCURRENCY_DEFAULT, CONCURRENCY_MAX, Context, GRACE_DEFAULT, Handle, Options,
        Runtime, STOP_WAIT_DEFAULT, Stores, TRACE_HEADERS,
    };
}

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

/// The guide is code that runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
