//! A redis-work-queue client that shares its keys with the original clients in Python, Node, Go,
//! Rust and .NET.
//!
//! There are two layouts that do not see each other's leases: use the one your clients use
//! ([`WorkQueueLayout`]). Operations for which the originals need several commands are one script
//! call here, with the same effect on the keys.
//!
//! ```no_run
//! # async fn example() -> windlass_core::Result<()> {
//! use std::time::Duration;
//! use windlass_interop::InteropServer;
//! use windlass_interop::redis_work_queue::{Item, WorkQueue, WorkQueueLayout};
//!
//! let server = InteropServer::open("redis://127.0.0.1:6379/0").await?;
//! let queue = WorkQueue::new(server, "mail", WorkQueueLayout::V01);
//! queue.add_item(&Item::from_json_data(&["dear", "Ann"])?).await?;
//! let lease = Duration::from_secs(30);
//! while let Some(item) = queue.lease(lease, Some(Duration::from_millis(500))).await? {
//!     let words: Vec<String> = item.data_json()?;
//!     // Do the work, then:
//!     let is_completed = queue.complete(&item.id).await?;
//! #   let _ = (words, is_completed);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Keys
//!
//! All keys are the original's except `<prefix>:windlass:marks`, a hash that stores since when an
//! item has been seen in the wrong list. It expires by itself, and the originals do not read it.
//!
//! # Map
//!
//! `keys` has the key names of a layout, `item` the queued items, `session` generates ids. The
//! operations are in `add`, `lease`, `count`, `clean` and `deep_clean`.

mod add;
mod clean;
mod count;
mod deep_clean;
mod item;
mod keys;
mod lease;
mod session;

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_redis_link::raw_client::RawScript;

pub use clean::WorkQueueCleanReport;
pub use count::Counts;
pub use item::Item;
pub use keys::WorkQueueLayout;
/// The pipeline type of [`WorkQueue::add_unique_item_to_pipeline`].
pub use redis::Pipeline;

use crate::InteropServer;
use keys::Keys;

/// How long an item may be in the wrong list before a clean moves it. Original clients take an item
/// with one command and set its lease with another; this is far longer than the gap between the two.
const GRACE: Duration = Duration::from_secs(2);

/// A queue of items. Clones share the session and the connections.
#[derive(Debug, Clone)]
pub struct WorkQueue {
    server: InteropServer,
    layout: WorkQueueLayout,
    keys: Keys,
    session: String,
    grace: Duration,
}

impl WorkQueue {
    /// Opens the queue with this prefix under a new session id. Writes nothing.
    pub fn new(server: InteropServer, prefix: &str, layout: WorkQueueLayout) -> Self {
        Self {
            server,
            layout,
            keys: Keys::new(prefix, layout),
            session: session::generate(layout),
            grace: GRACE,
        }
    }

    /// Sets the session id, for example to continue with leases of another process.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.session = session.into();
        self
    }

    /// Sets how long an item may be in the wrong list before a clean moves it (default: 2s). With
    /// zero, items that original clients are just taking can run twice.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Returns the session id, which is the value of the leases.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Returns the key layout.
    pub fn layout(&self) -> WorkQueueLayout {
        self.layout
    }

    async fn run(&self, script: &'static RawScript, args: Vec<Bytes>) -> Result<Value> {
        let (keys, args) = self.keys.call(args);
        self.server.client.run(script, keys, args).await
    }

    async fn run_repeating(&self, script: &'static RawScript, args: Vec<Bytes>) -> Result<Value> {
        let (keys, args) = self.keys.call(args);
        self.server.client.run_idempotent(script, keys, args).await
    }
}

/// Builds a script from `lib/keys.lua` and a file.
macro_rules! script {
    ($file:literal) => {
        std::sync::LazyLock::new(|| {
            windlass_redis_link::raw_client::RawScript::new(&[
                include_str!("../../lua/redis_work_queue/lib/keys.lua"),
                include_str!(concat!("../../lua/redis_work_queue/", $file)),
            ])
        })
    };
}
use script;
