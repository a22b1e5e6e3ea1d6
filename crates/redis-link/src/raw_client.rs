//! A client for the Redis data of other systems: runs commands and scripts without a Windlass store.
//!
//! The keys of those systems share no hash tag, so their scripts cannot run on a Cluster.

use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::{Error, ErrorKind, Result};

use crate::address::LinkAddress;
use crate::link::{Call, ChannelKind, Link, LinkMode, WaitOn};
pub use crate::link::{Subscriber, SubscriberEvent};
use crate::script::{Script, header};

/// A client for another system's data. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub struct RawClient {
    link: Link,
}

/// A script that works on another system's keys.
#[derive(Debug)]
pub struct RawScript(Script);

impl RawScript {
    /// Concatenates the parts in order.
    pub fn new(parts: &[&str]) -> Self {
        let flags = parts.iter().find_map(|part| header(part, "flags"));
        Self(Script::new(flags.unwrap_or_default(), &parts.concat()))
    }
}

impl RawClient {
    /// Connects to one server, or to a primary discovered through sentinels. Accepts any eviction
    /// policy: how the data is kept is its owner's choice.
    pub async fn open(url: &str) -> Result<Self> {
        let address = LinkAddress::parse(url)?;
        if address.is_cluster() {
            return Err(Error::new(
                ErrorKind::StoreUnsupported,
                "the older systems cannot run on a Redis Cluster: their keys share no hash tag",
                "use a single server or its sentinels: redis://… or redis-sentinel://…",
            ));
        }
        let link = Box::pin(Link::open(&address, LinkMode::Raw)).await?;
        Ok(Self { link })
    }

    /// Runs a script once. If no reply arrives, the error is `OutcomeUnknown`.
    pub async fn run(
        &self,
        script: &'static RawScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let reply = self.link.run(&call(script, keys, args)).await;
        reply.map_err(not_repeatable)
    }

    /// Runs a script and resends it until a reply arrives or the call times out. Only for
    /// idempotent scripts.
    pub async fn run_idempotent(
        &self,
        script: &'static RawScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        self.link.run_idempotent(&call(script, keys, args)).await
    }

    /// Blocks until `list` has an element or `wait` elapses, then runs a script. The element stays
    /// in the list, so nothing is lost if the caller is cancelled or the connection breaks.
    pub async fn wait_then_run(
        &self,
        list: &[u8],
        wait: Duration,
        script: &'static RawScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let then = call(script, keys, args);
        let reply = self.link.wait_then_run(WaitOn::Peek(list), wait, &then);
        let (reply, _) = reply.await.map_err(not_repeatable)?;
        Ok(reply)
    }

    /// Sends an idempotent command.
    pub async fn ask(&self, cmd: &Cmd) -> Result<Value> {
        self.link.ask(b"", cmd).await
    }

    /// Subscribes to channels. Messages published after this returns are received.
    pub async fn subscribe(&self, channels: Vec<Bytes>) -> Result<Subscriber> {
        self.link.subscribe(ChannelKind::Plain, channels).await
    }
}

/// Corrects the advice to repeat a call: a repeated script is a new call here.
fn not_repeatable(error: Error) -> Error {
    if error.is_unknown() {
        error.with_help("check what the call did before you repeat it: `windlass interop inspect`")
    } else {
        error
    }
}

fn call(script: &'static RawScript, keys: Vec<Bytes>, args: Vec<Bytes>) -> Call {
    Call {
        script: &script.0,
        keys,
        args,
    }
}
