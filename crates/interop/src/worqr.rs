//! A Worqr client that implements all of its operations on its own keys, so that original and
//! Windlass workers can share a queue.
//!
//! Operations for which the original needs several commands are one script call here, so no task is
//! lost or duplicated if a caller is killed. The tasks of a failed worker, and no others, return to
//! the *front* of their queues, and the other workers are notified.
//!
//! # Map
//!
//! [`WorqrSettings`] selects the [`WorqrLayout`]. `keys` has the key names, `scripts` the scripts,
//! and `names` rejects ambiguous names. `queues` reads and deletes queues, `tasks` enqueues and
//! cancels tasks, `processes` starts and ends them. `workers` has the operations of a worker, and
//! [`WorqrWorker`] sends heartbeats in the background; `cleanup` finds dead workers.
//! [`WorqrListener`] subscribes to the channels.
//!
//! # Keys added by Windlass
//!
//! The original does not read or need them.
//!
//! | Released | Document | Type | Contents |
//! |---|---|---|---|
//! | `P:windlass:workers` | `windlass_workers` | set | the Windlass workers |
//! | `P:windlass:processes:WORKER` | `windlass_processes_WORKER` | sorted set | the worker's processes by start time |
//! | `P:windlass:bridged:QUEUE` | `windlass_bridged_QUEUE` | hash | job ids of the processes of bridges |
//! | `P:windlass:deleted`, `…:deleted:NONCE` | `windlass_deleted`, `…_deleted_NONCE` | set, list | tasks of deleted queues whose locks are not freed yet |
//! | `P:uniqueTasks:MD5` (the original's) | `windlass_unique_MD5` | string | the lock of a unique task |
//! | — | `windlass_queues` | set | the queues that Windlass filled |
//!
//! The original records tasks in progress per queue, not per worker. A process that is in no sorted
//! set of Windlass belongs to an original worker. It is returned when an original worker fails or
//! stops and no other original serves the queue, because then it cannot belong to another one. Until
//! then it is left to the original's own cleanup, which takes back everything in progress on the
//! queue, including the tasks of Windlass workers.
//!
//! # Example
//!
//! ```no_run
//! use windlass_interop::InteropServer;
//! use windlass_interop::worqr::{ProcessEnd, WorkerOptions, Worqr, WorqrSettings};
//!
//! # async fn example() -> windlass_core::Result<()> {
//! let server = InteropServer::open("redis://127.0.0.1:6379/0").await?;
//! let worqr = Worqr::new(&server, WorqrSettings::released("worqr"))?;
//! worqr.enqueue("mail", "dear Ann").await?;
//!
//! let worker = worqr.join(WorkerOptions::default()).await?;
//! let mut listener = worqr.listen(&["mail"]).await?;
//! worker.start_work("mail").await?;
//! while let Some(process) = worker.start_task("mail").await? {
//!     let result = process.task.len();
//!     if worker.finish_task_with(&process.id, &result).await? == ProcessEnd::Gone {
//!         // Returned to the queue meanwhile: another worker runs it again.
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
mod processes;
mod queues;
mod scan;
mod scripts;
mod tasks;
mod worker;
mod workers;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;

pub use cleanup::WorqrCleanReport;
pub use events::{DoneMessage, WorqrEvent, WorqrListener};
pub use keys::WorqrLayout;
pub use processes::{Process, ProcessEnd};
pub use tasks::UniqueEnqueued;
pub use worker::{WorkerOptions, WorkerState, WorqrWorker};
pub use workers::{HEARTBEAT, Lifetime, TIMEOUT, WorkerFailure};

use crate::InteropServer;
use keys::Keys;
use scripts::LayoutScripts;

/// Key layout and prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorqrSettings {
    /// Key layout.
    pub layout: WorqrLayout,
    /// Key prefix. The released layout puts `:` or `_` after it. The document layout uses it unchanged,
    /// and it is often empty.
    pub prefix: String,
}

impl WorqrSettings {
    /// Uses a layout with this prefix (default: `worqr`; none in the document layout).
    pub fn new(layout: WorqrLayout, prefix: Option<String>) -> Self {
        let prefix = prefix.unwrap_or_else(|| match layout {
            WorqrLayout::Released => "worqr".to_owned(),
            WorqrLayout::Document => String::new(),
        });
        Self { layout, prefix }
    }

    /// Uses the layout of the released versions, which call the prefix `redisKeyPrefix`.
    pub fn released(prefix: impl Into<String>) -> Self {
        Self {
            layout: WorqrLayout::Released,
            prefix: prefix.into(),
        }
    }

    /// Uses the layout of the document that came before them.
    pub fn document(prefix: impl Into<String>) -> Self {
        Self {
            layout: WorqrLayout::Document,
            prefix: prefix.into(),
        }
    }
}

impl Default for WorqrSettings {
    /// Returns the original's defaults.
    fn default() -> Self {
        Self::released("worqr")
    }
}

/// A Worqr client. Clones share connections.
#[derive(Debug, Clone)]
pub struct Worqr {
    server: InteropServer,
    keys: Keys,
}

impl Worqr {
    /// Creates a client.
    pub fn new(server: &InteropServer, settings: WorqrSettings) -> Result<Self> {
        Ok(Self {
            server: server.clone(),
            keys: Keys::new(settings)?,
        })
    }

    /// Runs a script once. If the reply is lost, the outcome is unknown.
    async fn run(&self, script: &'static LayoutScripts, args: Vec<Bytes>) -> Result<Value> {
        let script = script.for_layout(self.keys.layout());
        self.server
            .client
            .run(script, Vec::new(), self.with_prefix(args))
            .await
    }

    /// Runs an idempotent script, with retries.
    async fn run_repeating(
        &self,
        script: &'static LayoutScripts,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let script = script.for_layout(self.keys.layout());
        let args = self.with_prefix(args);
        self.server
            .client
            .run_idempotent(script, Vec::new(), args)
            .await
    }

    /// Prepends the prefix. Scripts build their keys from it, because most depend on data they read.
    fn with_prefix(&self, mut args: Vec<Bytes>) -> Vec<Bytes> {
        args.insert(0, arg(self.keys.prefix()));
        args
    }
}

fn arg(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
