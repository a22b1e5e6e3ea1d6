//! A Blueque client that shares its keys with the original Python library, or uses the layout of
//! Blueque's original design note.
//!
//! # Map
//!
//! [`Blueque`] opens [`BluequeQueue`]s and reads [`Task`]s. A [`BluequeListener`] takes tasks, a
//! [`BluequeProcessor`] starts and ends them, and a [`ListenerHeartbeat`] keeps the listener alive
//! meanwhile. [`CleanOptions`] control how tasks of dead listeners are found: `snapshot.rs` reads
//! which listener holds which task, `liveness.rs` decides which are lost, `clean.rs` and
//! `claim_orphan.rs` act on it. `keys.rs` has all key names, `host.rs` the name of this machine, and
//! `scripts.rs` the scripts in `lua/blueque`, one per change.
//!
//! # Keys added by Windlass
//!
//! The originals have no heartbeat. Windlass adds `PREFIX_beats_QUEUE`, a sorted set of its listeners
//! with the time (ms) until which each is alive (0: declared lost), and `PREFIX_worker_LISTENER`, a
//! JSON record of each that expires with its heartbeat. The field `ticket` in the hash of a task
//! identifies the call that changed it, so that a retry after a lost reply gets the same reply again.
//! In the document layout, which defines only the queue, its channel, tasks and workers, the lists of
//! held tasks are additions as well. The originals ignore all of these.
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_interop::InteropServer;
//! use windlass_interop::blueque::{Blueque, BluequeLayout, ListenerOptions};
//!
//! # async fn example() -> windlass_core::Result<()> {
//! let server = InteropServer::open("redis://127.0.0.1:6379/0").await?;
//! let blueque = Blueque::new(server, BluequeLayout::Released);
//! let queue = blueque.queue("videos")?;
//! queue.enqueue(r#"{"file": "a.mov"}"#).await?;
//!
//! let mut listener = queue.join(ListenerOptions::default()).await?;
//! if let Some(task) = listener.listen(Duration::from_secs(5)).await? {
//!     let mut processor = blueque.processor(&task)?;
//!     processor.start(std::process::id()).await?;
//!     processor.complete("done").await?;
//! }
//! # Ok(())
//! # }
//! ```

mod channel;
mod claim_orphan;
mod clean;
mod error;
mod heartbeat;
mod host;
mod keys;
mod listener;
mod liveness;
mod processor;
mod queue;
mod scripts;
mod snapshot;
mod stats;
mod task;

use bytes::Bytes;
use clap::ValueEnum;
use redis::{Value, cmd};
use windlass_core::{Error, Result};
use windlass_redis_link::raw_client::RawScript;

use crate::{InteropServer, reply};

pub use clean::{BluequeCleanReport, CleanOptions};
pub use heartbeat::ListenerHeartbeat;
pub use listener::{BluequeListener, ListenerOptions};
pub use processor::BluequeProcessor;
pub use queue::BluequeQueue;
pub use stats::{BluequeStats, ListenerInfo};
pub use task::{Task, encode};

use keys::Keys;

/// Number of ids, entries or names per page.
const PAGE: usize = 200;

/// Key layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BluequeLayout {
    /// `blueque_…`, the released library: tasks are reserved, then started.
    #[default]
    #[value(help = "The released library: blueque_…")]
    Released,
    /// `bluequeue_…`, the design note: tasks are started as they are popped, with a channel per queue.
    #[value(help = "The original design note: bluequeue_…")]
    Document,
}

impl BluequeLayout {
    /// Returns the prefix of all keys.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Released => "blueque",
            Self::Document => "bluequeue",
        }
    }
}

/// A Blueque client on one server. Clones share connections.
#[derive(Debug, Clone)]
pub struct Blueque {
    server: InteropServer,
    layout: BluequeLayout,
}

impl Blueque {
    /// Creates a client with this layout.
    pub fn new(server: InteropServer, layout: BluequeLayout) -> Self {
        Self { server, layout }
    }

    /// Returns the key layout.
    pub fn layout(&self) -> BluequeLayout {
        self.layout
    }

    /// Opens a queue, which need not exist.
    pub fn queue(&self, name: &str) -> Result<BluequeQueue> {
        if name.is_empty() {
            return Err(Error::invalid(
                "queue",
                "the name is empty",
                "use the queue name of the producers",
            ));
        }
        Ok(BluequeQueue {
            blueque: self.clone(),
            keys: Keys::new(self.layout, name),
        })
    }

    /// Reads a task. Returns `None` if the id is unknown.
    pub async fn get_task(&self, id: &str) -> Result<Option<Task>> {
        let mut cmd = cmd("HGETALL");
        cmd.arg(keys::task(self.layout, id).as_ref());
        let fields = reply::list(self.server.client.ask(&cmd).await?)?;
        if fields.is_empty() {
            return Ok(None);
        }
        Task::read(self.layout, id, fields).map(Some)
    }

    /// Returns a processor, which starts and ends a task that a listener took.
    pub fn processor(&self, task: &Task) -> Result<BluequeProcessor> {
        BluequeProcessor::new(self, task)
    }

    /// Returns the names of all queues that were ever used, sorted.
    pub async fn queues(&self) -> Result<Vec<String>> {
        let key = keys::queues(self.layout);
        let mut names: Vec<_> = self.scan("ZSCAN", Some(&key), None).await?;
        // The reply alternates between names and scores.
        let mut index = 0;
        names.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Runs an idempotent script, with retries.
    async fn run(
        &self,
        script: &'static RawScript,
        keys: &Keys,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let client = &self.server.client;
        client
            .run_idempotent(script, keys.declared(), keys.args(args))
            .await
    }

    /// Collects all results of a scan command. Results may contain duplicates.
    async fn scan(
        &self,
        command: &str,
        key: Option<&Bytes>,
        pattern: Option<&str>,
    ) -> Result<Vec<String>> {
        let page = |cursor: &str| {
            let mut cmd = cmd(command);
            if let Some(key) = key {
                cmd.arg(key.as_ref());
            }
            cmd.arg(cursor);
            if let Some(pattern) = pattern {
                cmd.arg("MATCH").arg(pattern);
            }
            cmd.arg("COUNT").arg(PAGE);
            cmd
        };
        let mut found = Vec::new();
        let add = |value| {
            found.push(stats::text(value)?);
            Ok(())
        };
        self.server.scan(page, add).await?;
        Ok(found)
    }
}
