//! What the servers say of themselves, for people who look after them.

use std::collections::HashMap;

use redis::{Cmd, Value};
use tokio::time::Instant;
use windlass_core::{Clock, Error, Result, SystemClock};

use super::Inner;
use super::conn::Conn;
use super::node::Node;
use crate::error::Fault;

/// What one server says of itself; what it does not tell is empty.
#[derive(Debug, Default)]
pub struct ServerFacts {
    /// Where it is.
    pub address: String,
    /// Its version.
    pub version: Option<String>,
    /// `master` or `slave`.
    pub role: Option<String>,
    /// What it does when memory is short.
    pub policy: Option<String>,
    /// Bytes in use.
    pub used_memory: Option<u64>,
    /// Bytes it may use; 0 is as many as there are.
    pub max_memory: Option<u64>,
    /// Whether it writes an append-only file.
    pub is_append_only: Option<bool>,
    /// When it forces that file to disk, where we may know.
    pub fsync: Option<String>,
    /// Replicas that are connected.
    pub replicas: Option<u64>,
    /// By how many milliseconds its clock is ahead of ours.
    pub clock_ahead_ms: Option<i64>,
    /// Why it told nothing.
    pub error: Option<Error>,
}

/// Asks every server that is in charge of something.
pub(super) async fn all(inner: &Inner) -> Result<Vec<ServerFacts>> {
    let until = Instant::now() + inner.address.timeout;
    let nodes = inner.topology.primaries(until).await;
    let mut facts = Vec::new();
    for node in nodes.map_err(Fault::into_error)? {
        facts.push(of(&node, until).await.unwrap_or_else(|fault| ServerFacts {
            address: node.name().to_string(),
            error: Some(fault.into_error()),
            ..ServerFacts::default()
        }));
    }
    Ok(facts)
}

async fn of(node: &Node, until: Instant) -> Result<ServerFacts, Fault> {
    let conn = node.shared(until).await?;
    let mut info = Cmd::new();
    info.arg("INFO")
        .arg(&["server", "memory", "replication", "persistence"]);
    let info = text(conn.call(&info, until).await?);
    let told: HashMap<&str, &str> = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.trim()))
        .collect();
    let word = |name: &str| told.get(name).map(|&value| value.to_owned());
    let number = |name: &str| told.get(name).and_then(|value| value.parse().ok());
    let mut fsync = Cmd::new();
    fsync.arg("CONFIG").arg("GET").arg("appendfsync");
    let fsync: HashMap<String, String> = conn
        .call(&fsync, until)
        .await
        .ok()
        .and_then(|value| redis::from_redis_value(value).ok())
        .unwrap_or_default();
    let clock_ahead_ms = clock_ahead_ms(&conn, until).await;
    Ok(ServerFacts {
        address: node.name().to_string(),
        version: word("valkey_version").or_else(|| word("redis_version")),
        role: word("role"),
        policy: word("maxmemory_policy"),
        used_memory: number("used_memory"),
        max_memory: number("maxmemory"),
        is_append_only: told.get("aof_enabled").map(|value| *value == "1"),
        fsync: fsync.into_values().next(),
        replicas: number("connected_slaves"),
        clock_ahead_ms,
        error: None,
    })
}

/// Its clock against ours in the middle of the question, where it tells.
async fn clock_ahead_ms(conn: &Conn, until: Instant) -> Option<i64> {
    let before = SystemClock.now_us();
    let mut time = Cmd::new();
    time.arg("TIME");
    let told = conn.call(&time, until).await.ok()?;
    let after = SystemClock.now_us();
    let (seconds, micros): (u64, u64) = redis::from_redis_value(told).ok()?;
    let theirs = i64::try_from(seconds * 1000 + micros / 1000).ok()?;
    let ours = i64::try_from(before.midpoint(after) / 1000).ok()?;
    Some(theirs - ours)
}

fn text(value: Value) -> String {
    redis::from_redis_value(value).unwrap_or_default()
}
