//! Commands and scripts of other systems on the servers that keep their data: the link without
//! our store.
//!
//! Their keys have no common hash tag, so a Cluster cannot hold them in one step.

use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::{Error, ErrorKind, Result};

use crate::address::{Address, Kind};
use crate::link::{Awaited, Call, Channels, Link, Standing};
pub use crate::link::{Heard, Listener};
use crate::script::Script;

/// A link to somebody else's data; clones share it.
#[derive(Debug, Clone)]
pub struct Guest {
    link: Link,
}

/// A script that keeps another system's rules.
#[derive(Debug)]
pub struct GuestScript(Script);

impl GuestScript {
    /// Put together from its parts, in their order.
    pub fn new(parts: &[&str]) -> Self {
        Self(Script::raw(parts))
    }
}

impl Guest {
    /// Connects to one server, or to the primary that sentinels know. The servers need not be fit
    /// for our own jobs: how these are kept is their owner's choice.
    pub async fn open(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        if matches!(address.kind, Kind::Cluster { .. }) {
            return Err(Error::new(
                ErrorKind::StoreUnsupported,
                "the keys of the older systems cannot be kept together in a Cluster",
                "name one server or its sentinels: redis://… or redis-sentinel://…",
            ));
        }
        let link = Box::pin(Link::open(&address, Standing::Guest)).await?;
        Ok(Self { link })
    }

    /// Runs a script. Where no answer comes its outcome is unknown, and the error says so.
    pub async fn run(
        &self,
        script: &'static GuestScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        self.link.run(&call(script, keys, args)).await
    }

    /// Runs a script again and again until an answer comes or the time is over: only for scripts
    /// that change nothing when they are repeated.
    pub async fn run_repeating(
        &self,
        script: &'static GuestScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        self.link.run_repeating(&call(script, keys, args)).await
    }

    /// Waits until there is something in `list`, which is left in its place, or `wait` is over;
    /// then runs a script. Nothing is lost when the caller or the connection goes away meanwhile.
    pub async fn wait_then_run(
        &self,
        list: &[u8],
        wait: Duration,
        script: &'static GuestScript,
        keys: Vec<Bytes>,
        args: Vec<Bytes>,
    ) -> Result<Value> {
        let then = call(script, keys, args);
        self.link.park(Awaited::Item(list), wait, &then).await
    }

    /// Sends a command that changes nothing, or nothing when it is repeated.
    pub async fn ask(&self, cmd: &Cmd) -> Result<Value> {
        self.link.ask(b"", cmd).await
    }

    /// Listens to channels; what is published after this has answered is heard.
    pub async fn listen(&self, channels: Vec<Bytes>) -> Result<Listener> {
        self.link.listen(Channels::Plain, channels).await
    }
}

fn call(script: &'static GuestScript, keys: Vec<Bytes>, args: Vec<Bytes>) -> Call {
    Call {
        script: &script.0,
        keys,
        args,
    }
}
