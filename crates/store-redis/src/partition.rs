//! One part of a queue: all its keys in one slot, and the calls that are made there.
//!
//! A queue has one part unless it is partitioned. Every step happens within a part.

use std::collections::HashSet;
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use redis::Value;
use windlass_core::{Claimer, Clock, DurabilityLevel, QueueName, Result};

use crate::keys::Keys;
use crate::link::{Call, Link};
use crate::reply::{self, Reply};
use crate::script::{Script, Scripts};

/// What every part of every queue shares.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) link: Link,
    pub(crate) scripts: &'static Scripts,
    /// Given in tests, where scripts take their time from an argument.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) prefix: String,
    pub(crate) is_covered: bool,
    /// Waiting jobs in one part beyond which a queue with `partitions=auto` gets more.
    pub(crate) grow_at: u64,
}

impl Shared {
    /// A call of a script with the keys of a tag.
    pub(crate) fn call(&self, keys: &Keys, script: &'static Script, mut args: Vec<Bytes>) -> Call {
        if let Some(clock) = &self.clock {
            args.push(Bytes::from(clock.now_us().to_string()));
        }
        Call {
            script,
            keys: keys.declared(&script.keys),
            args,
        }
    }
}

/// One part of a queue.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) queue: QueueName,
    pub(crate) number: u32,
    pub(crate) keys: Keys,
    /// How many parts the queue has, as this one last said to a claim.
    pub(crate) parts_seen: AtomicU32,
    /// It has said that the queue should have more parts.
    pub(crate) is_large: AtomicBool,
    shared: Arc<Shared>,
}

impl Part {
    pub(crate) fn new(shared: Arc<Shared>, queue: QueueName, number: u32) -> Self {
        let keys = Keys::of_queue(&shared.prefix, &queue, number);
        Self {
            queue,
            number,
            keys,
            parts_seen: AtomicU32::new(1),
            is_large: AtomicBool::new(false),
            shared,
        }
    }

    pub(crate) fn scripts(&self) -> &'static Scripts {
        self.shared.scripts
    }

    /// Whether the queue has other parts, as far as this one has said.
    pub(crate) fn has_siblings(&self) -> bool {
        self.parts_seen.load(Ordering::Relaxed) > 1
    }

    pub(crate) fn link(&self) -> &Link {
        &self.shared.link
    }

    /// The call of a script here.
    pub(crate) fn call(&self, script: &'static Script, args: Vec<Bytes>) -> Call {
        self.shared.call(&self.keys, script, args)
    }

    /// Runs a script here. Every verb may be repeated, so a short loss of the server stays unseen.
    pub(crate) async fn run(&self, script: &'static Script, args: Vec<Bytes>) -> Result<Value> {
        let call = self.call(script, args);
        // Boxed: the way through a link is long, and every verb takes it.
        Box::pin(self.shared.link.run_repeating(&call)).await
    }

    /// Runs a script that hands out jobs. A worker's claim carries a number and may be repeated; another
    /// would hand out more each time, so that no answer is an unknown outcome.
    pub(crate) async fn hand_out(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
        claimer: &Claimer,
    ) -> Result<Reply> {
        let reply = match claimer {
            Claimer::Worker { .. } => self.run(script, args).await?,
            Claimer::Single { .. } => {
                let call = self.call(script, args);
                Box::pin(self.shared.link.run(&call)).await?
            }
        };
        Reply::list(reply)
    }

    /// Runs a script whose reply is a list.
    pub(crate) async fn list(&self, script: &'static Script, args: Vec<Bytes>) -> Result<Reply> {
        Reply::list(self.run(script, args).await?)
    }

    /// Runs a script that makes something durable: what it replied, and how safe that is.
    pub(crate) async fn run_covered(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<(Value, DurabilityLevel)> {
        if self.shared.is_covered {
            let call = self.call(script, args);
            return Box::pin(self.shared.link.run_covered(&call)).await;
        }
        let value = self.run(script, args).await?;
        Ok((value, DurabilityLevel::Memory))
    }

    /// Makes the queue: on record first, so that no job is ever in a queue that nobody lists. What is
    /// there is not written again: a full server refuses that, and workers must be able to come.
    pub(crate) async fn make(&self) -> Result<()> {
        let registry = Keys::of_registry(&self.shared.prefix).one("queues");
        if !self
            .has("SISMEMBER", &registry, self.queue.as_str())
            .await?
        {
            let mut add = redis::cmd("SADD");
            add.arg(&registry[..]).arg(self.queue.as_str());
            Box::pin(self.shared.link.ask(&registry, &add)).await?;
        }
        if !self
            .has("HEXISTS", &self.keys.one("state"), "figures")
            .await?
        {
            self.run(&self.scripts().create, Vec::new()).await?;
        }
        Ok(())
    }

    /// Asks `verb` whether a key has a member.
    pub(crate) async fn has(&self, verb: &str, key: &[u8], member: &str) -> Result<bool> {
        let mut ask = redis::cmd(verb);
        ask.arg(key).arg(member);
        Ok(reply::int(&Box::pin(self.shared.link.ask(key, &ask)).await?)? == 1)
    }

    /// Runs a script that replies `absent` where the queue does not exist: then it is made first.
    pub(crate) async fn run_made(
        &self,
        script: &'static Script,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let reply = self.run(script, args.clone()).await?;
        if !is_word(&reply, b"absent") {
            return Ok(reply);
        }
        self.make().await?;
        self.run(script, args).await
    }
}

/// Whether a reply is this one word.
pub(crate) fn is_word(value: &Value, word: &[u8]) -> bool {
    match value {
        Value::BulkString(bytes) => bytes == word,
        Value::SimpleString(text) => text.as_bytes() == word,
        _ => false,
    }
}

/// An argument that is a number.
pub(crate) fn number(value: impl Display) -> Bytes {
    Bytes::from(format!("{value}"))
}

/// An argument that is text.
pub(crate) fn words(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// A reply that is one number, as a count.
pub(crate) fn counted(value: &Value) -> Result<u64> {
    Ok(u64::try_from(reply::int(value)?).unwrap_or_default())
}

/// Cuts a batch into runs in which each id occurs once, in their order: scripts take an id once a
/// call. There is one run unless an id is repeated.
pub(crate) fn runs<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut seen = HashSet::with_capacity(ids.size_hint().0);
    for (at, id) in ids.enumerate() {
        if !seen.insert(id) {
            seen.clear();
            seen.insert(id);
            runs.push(at..at + 1);
        } else if let Some(run) = runs.last_mut() {
            run.end = at + 1;
        } else {
            runs.push(0..1);
        }
    }
    runs
}
