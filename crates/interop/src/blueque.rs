//! Blueque: a peer of the Python library on its own keys, and of the design note it began with.
//!
//! # Map
//!
//! [`Blueque`] opens [`Queue`]s and reads [`Task`]s. A [`Listener`] takes tasks, a [`Processor`]
//! says how one ended, [`Heartbeat`] keeps a listener alive while that lasts. [`CleanOptions`] say
//! how tasks of dead listeners are found: `survey.rs` looks who holds what, `verdict.rs` judges,
//! `clean.rs` and `orphan.rs` act. `keys.rs` has the names of all keys, `host.rs` what this machine
//! is called; `scripts.rs` is the list of changes, each one script of `lua/blueque`.
//!
//! # Keys of our own
//!
//! The originals know no heartbeat. Beside their keys we keep `PREFIX_beats_QUEUE`, a sorted set of
//! our listeners with the time (ms) until which each is alive (0: declared lost), and
//! `PREFIX_worker_LISTENER`, a record of each as JSON that expires with its beat. The hash of a task
//! gets the field `ticket`, by which a call whose answer was lost is told the same again. In the
//! design note's layout, which names only the queue, its channel, tasks and workers, the lists of
//! who holds what are ours as well. Originals ignore all of these.
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_interop::Server;
//! use windlass_interop::blueque::{Blueque, Layout, ListenerOptions};
//!
//! # async fn example() -> windlass_core::Result<()> {
//! let server = Server::open("redis://127.0.0.1:6379/0").await?;
//! let blueque = Blueque::new(server, Layout::Released);
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

mod clean;
mod figures;
mod heartbeat;
mod host;
mod id;
mod keys;
mod listener;
mod orphan;
mod processor;
mod queue;
mod refusal;
mod scripts;
mod survey;
mod task;
mod verdict;
mod wake;

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::{Error, Result};
use windlass_store_redis::guest::GuestScript;

use crate::{Server, reply};

pub use clean::{CleanOptions, Cleaned};
pub use figures::{Figures, KnownListener};
pub use heartbeat::Heartbeat;
pub use listener::{Listener, ListenerOptions};
pub use processor::Processor;
pub use queue::Queue;
pub use task::{Task, encode};

use keys::Keys;

/// How many ids, entries or names are asked for at once.
const PAGE: usize = 200;

/// The two vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// `blueque_…`, as the library was released: reserved, then started.
    #[default]
    Released,
    /// `bluequeue_…`, as the design note has it: started as it is popped, with a channel per queue.
    Document,
}

impl Layout {
    /// What all its keys begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Released => "blueque",
            Self::Document => "bluequeue",
        }
    }
}

/// Blueque on one server; clones share it.
#[derive(Debug, Clone)]
pub struct Blueque {
    server: Server,
    layout: Layout,
}

impl Blueque {
    /// Speaks this vocabulary with that server.
    pub fn new(server: Server, layout: Layout) -> Self {
        Self { server, layout }
    }

    /// The vocabulary.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// A queue by its name; it need not exist.
    pub fn queue(&self, name: &str) -> Result<Queue> {
        if name.is_empty() {
            return Err(Error::invalid(
                "queue",
                "it has no name",
                "name the queue as its producers do",
            ));
        }
        Ok(Queue {
            blueque: self.clone(),
            keys: Keys::new(self.layout, name),
        })
    }

    /// What is known of a task now; nothing for an id that nobody knows.
    pub async fn get_task(&self, id: &str) -> Result<Option<Task>> {
        let mut cmd = cmd("HGETALL");
        cmd.arg(keys::task(self.layout, id).as_ref());
        let fields = reply::list(self.server.guest.ask(&cmd).await?)?;
        if fields.is_empty() {
            return Ok(None);
        }
        Task::read(self.layout, id, fields).map(Some)
    }

    /// Ends a task that a listener took.
    pub fn processor(&self, task: &Task) -> Result<Processor> {
        Processor::new(self, task)
    }

    /// The names of all queues that were ever used, in their order.
    pub async fn queues(&self) -> Result<Vec<String>> {
        let key = keys::queues(self.layout);
        let mut names: Vec<_> = self.scan("ZSCAN", Some(&key), None).await?;
        // What a scan answers are names and figures in turn.
        let mut at = 0;
        names.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Runs a script that changes nothing more when it is repeated.
    async fn run(
        &self,
        script: &'static GuestScript,
        keys: &Keys,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let guest = &self.server.guest;
        guest
            .run_repeating(script, keys.declared(), keys.args(args))
            .await
    }

    /// All that a scan finds, page by page; what it finds twice is told twice.
    async fn scan(
        &self,
        command: &str,
        key: Option<&Bytes>,
        pattern: Option<&[u8]>,
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut cmd = cmd(command);
            if let Some(key) = key {
                cmd.arg(key.as_ref());
            }
            cmd.arg(&cursor);
            if let Some(pattern) = pattern {
                cmd.arg("MATCH").arg(pattern);
            }
            cmd.arg("COUNT").arg(PAGE);
            let mut page = reply::list(self.server.guest.ask(&cmd).await?)?.into_iter();
            cursor = reply::text(page.next().unwrap_or(Value::Nil))?;
            for value in reply::list(page.next().unwrap_or(Value::Nil))? {
                found.push(figures::words(value)?);
            }
            if cursor == "0" {
                return Ok(found);
            }
        }
    }
}
