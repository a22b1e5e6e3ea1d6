//! Facts about the servers, for operators.

use std::collections::HashMap;

use redis::Cmd;
use tokio::time::Instant;
use windlass_core::{Clock, Error, Result, SystemClock};

use super::conn::Conn;
use super::node::Node;
use super::{Inner, check};
use crate::error::CallError;

/// Facts about one server. Fields the server does not report are `None`.
#[derive(Debug, Default)]
pub struct ServerInfo {
    /// Host and port, or the socket path.
    pub address: String,
    /// Redis or Valkey version.
    pub version: Option<String>,
    /// `master` or `slave`.
    pub role: Option<String>,
    /// Eviction policy (`maxmemory-policy`).
    pub policy: Option<String>,
    /// Memory in use, in bytes.
    pub used_memory: Option<u64>,
    /// Memory limit in bytes (`maxmemory`); 0 means no limit.
    pub max_memory: Option<u64>,
    /// Whether the append-only file is enabled.
    pub is_append_only: Option<bool>,
    /// When the append-only file is synced (`appendfsync`), if the user may read it.
    pub fsync: Option<String>,
    /// Number of connected replicas.
    pub replicas: Option<u64>,
    /// With fewer connected replicas it refuses writes (`min-replicas-to-write`), if the user may read
    /// it.
    pub min_replicas: Option<u64>,
    /// How far its clock is ahead of the local clock, in milliseconds.
    pub clock_ahead_ms: Option<i64>,
    /// Why the server could not be queried.
    pub error: Option<Error>,
}

pub(super) async fn all(inner: &Inner) -> Result<Vec<ServerInfo>> {
    let until = Instant::now() + inner.address.timeout;
    let nodes = inner.topology.primaries(until).await;
    let mut facts = Vec::new();
    for node in nodes.map_err(CallError::into_error)? {
        facts.push(
            query(&node, until)
                .await
                .unwrap_or_else(|error| ServerInfo {
                    address: node.name().to_string(),
                    error: Some(error.into_error()),
                    ..ServerInfo::default()
                }),
        );
    }
    Ok(facts)
}

async fn query(node: &Node, until: Instant) -> Result<ServerInfo, CallError> {
    let conn = node.shared(until).await?;
    let mut info = Cmd::new();
    info.arg("INFO")
        .arg(&["server", "memory", "replication", "persistence"]);
    let info = conn.call(&info, until).await?;
    let info: String = redis::from_redis_value(info).unwrap_or_default();
    let fields: HashMap<&str, &str> = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name, value.trim()))
        .collect();
    let text_of = |name: &str| fields.get(name).map(|&value| value.to_owned());
    let number = |name: &str| fields.get(name).and_then(|value| value.parse().ok());
    let mut config = Cmd::new();
    config.arg("CONFIG").arg("GET").arg("appendfsync");
    config.arg(check::MIN_REPLICAS);
    let mut config: HashMap<String, String> = conn
        .call(&config, until)
        .await
        .ok()
        .and_then(|value| redis::from_redis_value(value).ok())
        .unwrap_or_default();
    let clock_ahead_ms = clock_ahead_ms(&conn, until).await;
    Ok(ServerInfo {
        address: node.name().to_string(),
        version: text_of("valkey_version").or_else(|| text_of("redis_version")),
        role: text_of("role"),
        policy: text_of("maxmemory_policy"),
        used_memory: number("used_memory"),
        max_memory: number("maxmemory"),
        is_append_only: fields.get("aof_enabled").map(|value| *value == "1"),
        fsync: config.remove("appendfsync"),
        replicas: number("connected_slaves"),
        min_replicas: check::min_replicas(&config),
        clock_ahead_ms,
        error: None,
    })
}

/// Compares the server's clock with the local clock at the midpoint of the round trip.
async fn clock_ahead_ms(conn: &Conn, until: Instant) -> Option<i64> {
    let before = SystemClock.now_us();
    let mut time = Cmd::new();
    time.arg("TIME");
    let reply = conn.call(&time, until).await.ok()?;
    let after = SystemClock.now_us();
    let (seconds, micros): (u64, u64) = redis::from_redis_value(reply).ok()?;
    let theirs = i64::try_from(seconds * 1000 + micros / 1000).ok()?;
    let ours = i64::try_from(before.midpoint(after) / 1000).ok()?;
    Some(theirs - ours)
}
