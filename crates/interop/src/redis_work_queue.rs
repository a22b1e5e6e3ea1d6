//! redis-work-queue on its own keys: a peer of its clients in Python, Node, Go, Rust and .NET.
//!
//! There are two layouts that do not see each other's leases: name the one your clients use
//! ([`Layout`]). Everything the originals do in several commands is one step here, and looks to
//! them as if one of them had done it.
//!
//! ```no_run
//! # async fn example() -> windlass_core::Result<()> {
//! use std::time::Duration;
//! use windlass_interop::Server;
//! use windlass_interop::redis_work_queue::{Item, Layout, WorkQueue};
//!
//! let server = Server::open("redis://127.0.0.1:6379/0").await?;
//! let queue = WorkQueue::new(server, "mail", Layout::V01);
//! queue.add_item(&Item::from_json_data(&["dear", "Ann"])?).await?;
//! let lease = Duration::from_secs(30);
//! while let Some(item) = queue.lease(lease, Some(Duration::from_millis(500))).await? {
//!     let words: Vec<String> = item.data_json()?;
//!     // The work itself; then:
//!     let is_mine = queue.complete(&item.id).await?;
//! #   let _ = (words, is_mine);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Keys
//!
//! All are the original's, but one: `<prefix>:windlass:marks` is a hash that says since when an item
//! has been seen where it does not belong, and expires by itself. The clients of the original do
//! not look at it.
//!
//! # Map
//!
//! `keys` names the keys of a layout, `item` is what is queued, `session` draws ids of both. Then the
//! operations: `add`, `lease`, `count`, `clean` and the deep part of it in `deep`.

mod add;
mod clean;
mod count;
mod deep;
mod item;
mod keys;
mod lease;
mod session;

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_store_redis::guest::GuestScript;

pub use clean::Cleaned;
pub use count::Counts;
pub use item::Item;
pub use keys::Layout;
/// What [`WorkQueue::add_unique_item_to_pipeline`] adds to.
pub use redis::Pipeline;

use crate::Server;
use keys::Keys;

/// How long an item may be out of its place before a clean moves it. Clients of the original take an
/// item with one command and set its lease with another; this is far more than lies between.
const GRACE: Duration = Duration::from_secs(2);

/// A queue of items; clones share its session and its connections.
#[derive(Debug, Clone)]
pub struct WorkQueue {
    server: Server,
    layout: Layout,
    keys: Keys,
    session: String,
    grace: Duration,
}

impl WorkQueue {
    /// The queue of this prefix, under a new session id. Nothing is written.
    pub fn new(server: Server, prefix: &str, layout: Layout) -> Self {
        Self {
            server,
            layout,
            keys: Keys::new(prefix, layout),
            session: session::draw(layout),
            grace: GRACE,
        }
    }

    /// The same queue under a session id of the caller's: to go on with leases of another process.
    #[must_use]
    pub fn with_session(mut self, session: impl Into<String>) -> Self {
        self.session = session.into();
        self
    }

    /// The same queue with another time that an item may be out of its place before a clean moves
    /// it. With zero, items that clients of the original are just taking run twice.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The value of the leases that this queue sets.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Whose keys these are.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    async fn run(&self, script: &'static GuestScript, args: Vec<Bytes>) -> Result<Value> {
        let (keys, args) = self.keys.call(args);
        self.server.guest.run(script, keys, args).await
    }

    async fn run_repeating(&self, script: &'static GuestScript, args: Vec<Bytes>) -> Result<Value> {
        let (keys, args) = self.keys.call(args);
        self.server.guest.run_repeating(script, keys, args).await
    }
}

/// A script with the names of the keys before it.
macro_rules! script {
    ($file:literal) => {
        std::sync::LazyLock::new(|| {
            windlass_store_redis::guest::GuestScript::new(&[
                include_str!("../../lua/redis_work_queue/lib/names.lua"),
                include_str!(concat!("../../lua/redis_work_queue/", $file)),
            ])
        })
    };
}
use script;
