//! The worker runtime: claims jobs, runs handlers, renews leases, reports outcomes and stops cleanly.
//!
//! # Map
//!
//! [`Runtime`] runs one worker, configured by [`Options`], on the store of its [`Connections`]. A
//! [`Handle`] runs the jobs: it receives an [`AttemptContext`] and returns an [`Outcome`]. The crate
//! `windlass` builds typed jobs and plain async functions as handlers on top of this.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::{NewJob, QueueName, Store, SystemClock};
//! use windlass_store_memory::MemoryStore;
//! use windlass_worker::{AttemptContext, Connections, Options, Outcome, Runtime, Source};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! let mail = QueueName::new("mail")?;
//! store.enqueue(&mail, vec![NewJob::new("dear Ann")]).await?;
//!
//! let mut options = Options::new([Source::new(mail)]);
//! options.is_burst = true; // stop when the queue is empty
//! let send = |context: AttemptContext| async move {
//!     assert_eq!(context.job().payload, "dear Ann");
//!     Outcome::done()
//! };
//! let worker = Runtime::new(Connections::shared(store), options, Arc::new(send))?;
//! assert_eq!(worker.run().await?.succeeded, 1);
//! # Ok(()) }
//! ```

mod backoff;
mod boot_time;
mod claim;
mod connections;
mod context;
mod events;
mod handle;
mod heartbeat;
mod lease_thread;
mod lock;
mod maintain;
mod metrics;
mod options;
mod outage;
mod outcome;
mod queue_state;
mod run;
mod runtime;
mod shared;
mod stop;
mod summary;

pub use connections::Connections;
pub use context::{AttemptContext, TRACE_HEADERS};
pub use handle::{AttemptFuture, Handle};
pub use lock::lock;
pub use options::{
    CONCURRENCY_DEFAULT, CONCURRENCY_MAX, GRACE_DEFAULT, Options, Order, Role, STOP_WAIT_DEFAULT,
    Source,
};
pub use outage::{Outage, StoreCaller};
pub use outcome::{Outcome, RetryWhen};
pub use run::catch_panic::run_handler;
pub use runtime::Runtime;
pub use stop::StopReason;
pub use stop::phase::Stopper;
pub use summary::Summary;

/// Re-exported so that users of [`AttemptContext::cancellation`] need no direct dependency on `tokio-util`.
pub use tokio_util::sync::CancellationToken;
