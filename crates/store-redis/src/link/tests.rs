//! The link against real servers: one file per subject.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use windlass_core::Result;
use windlass_testkit::redis::Server;

use super::{Awaited, Call, Channels, Fitness, Inner, Link, Standing, Topology};
use crate::address::Address;
use crate::script::Script;

mod blocking_pop;
mod cluster;
mod durability;
mod fake_server;
mod open;
mod run;
mod sentinel;
mod subscriber;
mod tls;

/// More time than any call needs that is answered at once, and less than [`FOR_EVER`]: a machine may
/// stand still for seconds.
const AT_ONCE: Duration = Duration::from_secs(30);

/// An option that lets calls take so long that whoever waits for it is found out.
const FOR_EVER: &str = "timeout=90s";

/// A script of a test, known for as long as the process runs.
fn script(name: &'static str, source: &str) -> &'static Script {
    Box::leak(Box::new(Script {
        name,
        sha: redis::Script::new(source).get_hash().to_owned(),
        source: source.to_owned(),
        keys: Vec::new(),
    }))
}

/// Adds one to its key.
fn count() -> &'static Script {
    script("count", "return redis.call('INCR', KEYS[1])")
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
    let address = Address::parse(url).expect("the URL is right");
    Link::open(&address, Standing::Host).await
}

/// A link to a server, with options of the URL.
async fn linked(server: &Server, options: &str) -> Link {
    open(&format!("{}{options}", server.url()))
        .await
        .expect("the server is fit")
}

/// A link whose calls have little time, connected already. To open it would have to succeed within
/// that time as well, however busy the machine is.
async fn hasty(url: &str) -> Link {
    let address = Address::parse(url).expect("the URL is right");
    let link = Link {
        inner: Arc::new(Inner {
            topology: Topology::new(&address).expect("the address is right"),
            fitness: Fitness::default(),
            standing: Standing::Host,
            address,
        }),
    };
    let ping = redis::cmd("PING");
    let connected = async { while link.ask(b"a", &ping).await.is_err() {} };
    tokio::time::timeout(AT_ONCE, connected)
        .await
        .expect("the server answers");
    link
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("not a number: {other:?}"),
    }
}

/// Does something blocking beside the runtime.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

/// Runs something blocking with a server beside the runtime.
async fn with<T: Send + 'static>(
    server: &Arc<Server>,
    work: impl FnOnce(&Server) -> T + Send + 'static,
) -> T {
    let server = Arc::clone(server);
    blocking(move || work(&server)).await
}
