//! The runtime of a worker: it claims jobs, runs handlers, holds leases, settles and stops cleanly.
//!
//! # Map
//!
//! [`Runtime`] runs one worker as its [`Options`] say, over its [`Stores`]. [`Handle`] is what runs a
//! job; it gets a [`Context`] and answers an [`Outcome`]. Typed jobs and plain functions as
//! handlers are built on these in the crate `windlass`.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_core::{NewJob, QueueName, Store, SystemClock};
//! use windlass_store_memory::MemoryStore;
//! use windlass_worker::{Context, Options, Outcome, Runtime, Source, Stores};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> windlass_core::Result<()> {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
//! let mail = QueueName::new("mail")?;
//! store.enqueue(&mail, vec![NewJob::new("dear Ann")]).await?;
//!
//! let mut options = Options::new([Source::new(mail)]);
//! options.is_burst = true; // until nothing is left
//! let send = |context: Context| async move {
//!     assert_eq!(context.job().payload, "dear Ann");
//!     Outcome::done()
//! };
//! let worker = Runtime::new(Stores::shared(store), options, Arc::new(send))?;
//! assert_eq!(worker.run().await?.succeeded, 1);
//! # Ok(()) }
//! ```

mod backoff;
mod bench;
mod boottime;
mod burst;
mod claims;
mod context;
mod deadlines;
mod drain;
mod ending;
mod execute;
mod fetch;
mod figures;
mod guard;
mod handle;
mod heartbeat;
mod holdings;
mod keeper;
mod lane;
mod listen;
mod maintain;
mod options;
mod outbox;
mod outcome;
mod phase;
mod renew;
mod run;
mod runtime;
mod settle;
mod shared;
mod slots;
mod stop;
mod stores;
mod summary;

pub use context::{Context, TRACE_HEADERS};
pub use handle::{Attempt, Handle};
pub use options::{
    CONCURRENCY_DEFAULT, CONCURRENCY_MAX, GRACE_DEFAULT, Options, Order, Role, STOP_WAIT_DEFAULT,
    Source,
};
pub use outcome::{Again, Outcome};
pub use phase::Stopper;
pub use runtime::Runtime;
pub use stop::StopReason;
pub use stores::Stores;
pub use summary::Summary;

/// The one foreign type of a handler's context, so that nobody needs another crate to name it.
pub use tokio_util::sync::CancellationToken;
