//! The link against real servers, one file per topic.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_core::store::DurabilityLevel;
use windlass_testkit::redis::Server;

use super::{Call, ChannelKind, Health, Inner, Link, LinkMode, Topology, WaitOn};
use crate::address::LinkAddress;
use crate::script::Script;

mod blocking_pop;
mod cluster;
mod durability;
mod fake_server;
mod open;
mod progress;
mod reply_limit;
mod run;
mod sentinel;
mod subscriber;
mod tls;

/// More than a call needs that is answered immediately, even on a machine that stalls for seconds,
/// and less than [`LONG_TIMEOUT`].
const IMMEDIATELY: Duration = Duration::from_secs(30);

/// A timeout so long that a call that waits for it exceeds [`IMMEDIATELY`].
const LONG_TIMEOUT: &str = "timeout=90s";

/// Builds a script; leaks it to get a `'static` reference.
fn script(source: &str) -> &'static Script {
    Box::leak(Box::new(Script {
        sha: redis::Script::new(source).get_hash().to_owned(),
        source: source.to_owned(),
    }))
}

/// Increments its key.
fn count() -> &'static Script {
    script("return redis.call('INCR', KEYS[1])")
}

fn call(script: &'static Script, keys: &[&str], args: &[&str]) -> Call {
    let bytes = |text: &&str| Bytes::copy_from_slice(text.as_bytes());
    Call {
        script,
        keys: keys.iter().map(bytes).collect(),
        args: args.iter().map(bytes).collect(),
    }
}

async fn open(url: &str) -> Result<Link> {
    let address = LinkAddress::parse(url).expect("the URL is valid");
    Link::open(&address, LinkMode::Store).await
}

/// Opens a link to a server, with URL options.
async fn linked(server: &Server, options: &str) -> Link {
    open(&format!("{}{options}", server.url()))
        .await
        .expect("the server is supported")
}

/// Returns a connected link with a short timeout. [`Link::open`] would have to succeed within that
/// timeout as well, which a busy machine cannot guarantee.
async fn with_short_timeout(url: &str) -> Link {
    let address = LinkAddress::parse(url).expect("the URL is valid");
    let link = Link {
        inner: Arc::new(Inner {
            topology: Topology::new(&address, LinkMode::Store).expect("the address is valid"),
            health: Health::default(),
            mode: LinkMode::Store,
            address,
        }),
    };
    let ping = redis::cmd("PING");
    let connected = async { while link.ask(b"a", &ping).await.is_err() {} };
    tokio::time::timeout(IMMEDIATELY, connected)
        .await
        .expect("the server replies");
    link
}

/// Runs a script and waits until it is durable.
async fn run_durable(link: &Link, call: &Call) -> (Value, DurabilityLevel) {
    let (mut replies, level) = link.run_durable(std::slice::from_ref(call)).await;
    let level = level.expect("runs");
    (replies.remove(0), level)
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("not a number: {other:?}"),
    }
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

/// Runs blocking work with a server on another thread.
async fn with<T: Send + 'static>(
    server: &Arc<Server>,
    work: impl FnOnce(&Server) -> T + Send + 'static,
) -> T {
    let server = Arc::clone(server);
    blocking(move || work(&server)).await
}
