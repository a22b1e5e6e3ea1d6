//! A client for the Delayed Queue App that shares its keys with the original's server and workers.
//!
//! Operations for which the original needs several commands are one script call here, with the same
//! effect on the keys. [`DelayedQueue::rescue`] is the monitor that the original describes but does
//! not run: it returns jobs whose worker has died.
//!
//! ```no_run
//! # async fn example() -> windlass_core::Result<()> {
//! use std::time::Duration;
//! use windlass_core::Due;
//! use windlass_interop::InteropServer;
//! use windlass_interop::delayed_queue::{AckStatus, DelayedQueue, PREFIX};
//!
//! let server = InteropServer::open("redis://127.0.0.1:6379/0").await?;
//! let queue = DelayedQueue::new(server, PREFIX);
//! queue.submit("dear Ann", Due::After(Duration::from_secs(60))).await?;
//! queue.move_due().await?;
//! while let Some(job) = queue.take(Duration::from_secs(5)).await? {
//!     // Do the work, then:
//!     if queue.ack(&job).await? == AckStatus::Gone {
//!         // Returned to the line meanwhile: another worker runs it again.
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Keys added by Windlass
//!
//! `<prefix>:windlass:unacked`, a hash that stores since when an id is in the list of unacknowledged
//! jobs, and the field `ticket` of a job, which identifies the call that took it. The original does
//! not read them.
//!
//! # Map
//!
//! `submit` adds jobs, `due` moves them when they are due, `take` hands them out, `end` acknowledges,
//! returns and renews them, and `rescue` returns those of dead workers. `count` counts them. `route`
//! is the HTTP route, which adds jobs to a Windlass queue.

mod count;
mod due;
mod end;
mod rescue;
mod route;
mod submit;
mod take;

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

pub use count::DelayedCounts;
pub use end::{AckStatus, ReturnTo};
pub use rescue::RescueReport;
pub use route::DelayedQueueRoute;
pub use take::DelayedJob;
pub(crate) use take::TakeFrom;

use crate::InteropServer;

/// The original's key prefix.
pub const PREFIX: &str = "delayed-queue";

/// How long a job may be unacknowledged without a renewal (default). Original workers give up a job
/// after 5 seconds.
pub const UNACKED_FOR: Duration = Duration::from_secs(10);

/// A queue of delayed jobs. Clones share connections.
#[derive(Debug, Clone)]
pub struct DelayedQueue {
    server: InteropServer,
    prefix: String,
    unacked_for: Duration,
}

impl DelayedQueue {
    /// Opens the queue with this key prefix. Writes nothing.
    pub fn new(server: InteropServer, prefix: impl Into<String>) -> Self {
        Self {
            server,
            prefix: prefix.into(),
            unacked_for: UNACKED_FOR,
        }
    }

    /// Sets how long a job may be unacknowledged before [`DelayedQueue::rescue`] returns it (default:
    /// 10s). Must be longer than original workers run a job (`jobProcessingTimeout`).
    #[must_use]
    pub fn with_unacked_for(mut self, unacked_for: Duration) -> Self {
        self.unacked_for = unacked_for;
        self
    }

    /// Returns how long a job may be unacknowledged. Workers renew more often than this.
    pub fn unacked_for(&self) -> Duration {
        self.unacked_for
    }

    /// Runs a script once. If the reply is lost, the outcome is unknown.
    async fn run(&self, script: &'static RawScript, args: Vec<Bytes>) -> Result<Value> {
        let args = self.with_prefix(args);
        self.server.client.run(script, Vec::new(), args).await
    }

    /// Runs an idempotent script, with retries.
    async fn run_repeating(&self, script: &'static RawScript, args: Vec<Bytes>) -> Result<Value> {
        let (client, args) = (&self.server.client, self.with_prefix(args));
        client.run_idempotent(script, Vec::new(), args).await
    }

    /// Prepends the prefix. Scripts build their keys from it, because most depend on data they read.
    fn with_prefix(&self, mut args: Vec<Bytes>) -> Vec<Bytes> {
        args.insert(0, text(&self.prefix));
        args
    }
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Builds a script from `lib/keys.lua` and a file.
macro_rules! script {
    ($file:literal) => {
        std::sync::LazyLock::new(|| {
            windlass_redis_link::raw_client::RawScript::new(&[
                include_str!("../../lua/delayed_queue/lib/keys.lua"),
                include_str!(concat!("../../lua/delayed_queue/", $file)),
            ])
        })
    };
}
use script;
