//! Worqr on its own keys: every operation of it, for workers of its own and of ours on one queue.
//!
//! Where the original takes several commands ours is one script, so that nothing is lost or doubled
//! when a caller ends anywhere. What it promised holds: the tasks of a failed worker, and no others,
//! go back to the *front* of their queues, and the others are told.
//!
//! # Map
//!
//! [`Settings`] say which [`Layout`] the keys have. `keys` names what we read, `scripts` lists what
//! changes them, `names` refuses names that cannot be told apart. `queues` looks at queues and
//! deletes them, `tasks` puts tasks in and cancels them, `processes` starts and ends them. `workers`
//! is the life of a worker call by call, and [`Worker`] one that beats by itself; `cleanup` finds
//! those that died. [`Listener`] hears the channels.
//!
//! # Keys of ours beside those of the original
//!
//! The original does not read them, and works on without them.
//!
//! | Released | Document | Type | Content |
//! |---|---|---|---|
//! | `P:windlass:workers` | `windlass_workers` | set | the workers that are ours |
//! | `P:windlass:processes:WORKER` | `windlass_processes_WORKER` | sorted set | the worker's processes, by the time they started |
//! | `P:windlass:deleted`, `…:deleted:NONCE` | `windlass_deleted`, `…_deleted_NONCE` | set, list | tasks of deleted queues whose locks are not free yet |
//! | `P:uniqueTasks:MD5` (the original's) | `windlass_unique_MD5` | string | the lock of a unique task |
//! | — | `windlass_queues` | set | the queues that we filled |
//!
//! The original notes what is in progress per queue, not per worker. A process that is in nobody's
//! sorted set is one of the original's workers. It goes back when one of them fails or stops while no
//! other worker of the original serves the queue, because then it can be nobody else's; until then it
//! is left to the original, whose own cleanup takes back everything at the queue, ours included.
//!
//! # Example
//!
//! ```no_run
//! use windlass_interop::Server;
//! use windlass_interop::worqr::{Ended, Settings, WorkerOptions, Worqr};
//!
//! # async fn example() -> windlass_core::Result<()> {
//! let server = Server::open("redis://127.0.0.1:6379/0").await?;
//! let worqr = Worqr::new(&server, Settings::released("worqr"))?;
//! worqr.enqueue("mail", "dear Ann").await?;
//!
//! let worker = worqr.join(WorkerOptions::default()).await?;
//! let mut listener = worqr.listen(&["mail"]).await?;
//! worker.start_work("mail").await?;
//! while let Some(process) = worker.start_task("mail").await? {
//!     let result = process.task.len();
//!     if worker.finish_task_with(&process.id, &result).await? == Ended::Gone {
//!         // Taken back meanwhile: somebody else does it again.
//!     }
//! }
//! listener.next().await; // more work, a cancelled task, …
//! worker.leave().await?;
//! # Ok(())
//! # }
//! ```

mod cleanup;
mod events;
mod keys;
mod names;
mod nonce;
mod processes;
mod queues;
mod scripts;
mod search;
mod tasks;
mod worker;
mod workers;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_store_redis::guest::Guest;

pub use cleanup::Cleaned;
pub use events::{Done, Event, Listener};
pub use keys::Layout;
pub use processes::{Ended, Process};
pub use tasks::Enqueued;
pub use worker::{Worker, WorkerOptions, WorkerState};
pub use workers::{BEAT, Failed, Lifetime, TIMEOUT};

use crate::Server;
use keys::Keys;
use scripts::Pair;

/// Where the keys are and what they look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Which names the keys have.
    pub layout: Layout,
    /// What stands before the names. The released layout puts `:` or `_` after it; in the document's
    /// layout it stands as it is, and is often empty.
    pub prefix: String,
}

impl Settings {
    /// The keys of the released versions; they call the prefix `redisKeyPrefix`.
    pub fn released(prefix: impl Into<String>) -> Self {
        Self {
            layout: Layout::Released,
            prefix: prefix.into(),
        }
    }

    /// The keys of the document that came before them.
    pub fn document(prefix: impl Into<String>) -> Self {
        Self {
            layout: Layout::Document,
            prefix: prefix.into(),
        }
    }
}

impl Default for Settings {
    /// What the original does where nothing is said.
    fn default() -> Self {
        Self::released("worqr")
    }
}

/// A peer of Worqr; clones share its connections.
#[derive(Debug, Clone)]
pub struct Worqr {
    guest: Guest,
    keys: Keys,
}

impl Worqr {
    /// A peer on these keys of a server.
    pub fn new(server: &Server, settings: Settings) -> Result<Self> {
        Ok(Self {
            guest: server.guest.clone(),
            keys: Keys::new(settings)?,
        })
    }

    /// Runs a script whose outcome is unknown when no answer comes.
    async fn run(&self, script: &'static Pair, args: Vec<Bytes>) -> Result<Value> {
        let script = script.of(self.keys.layout());
        self.guest.run(script, Vec::new(), self.with(args)).await
    }

    /// Runs a script that changes nothing when it is repeated.
    async fn run_repeating(&self, script: &'static Pair, args: Vec<Bytes>) -> Result<Value> {
        let script = script.of(self.keys.layout());
        let args = self.with(args);
        self.guest.run_repeating(script, Vec::new(), args).await
    }

    /// Scripts build their keys from the prefix: most are found while they run.
    fn with(&self, mut args: Vec<Bytes>) -> Vec<Bytes> {
        args.insert(0, arg(self.keys.prefix()));
        args
    }
}

fn arg(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
