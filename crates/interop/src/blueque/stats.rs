//! Stats and listeners of a queue.

use bytes::Bytes;
use redis::{Value, cmd};
use serde::Serialize;
use windlass_core::Result;

use super::{BluequeQueue, host, scripts};
use crate::reply;

/// Numbers of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BluequeStats {
    /// Number of listeners recorded in the table of queues. `None` if the queue is unknown.
    pub recorded_listeners: Option<String>,
    /// Number of listeners.
    pub listeners: u64,
    /// Waiting tasks.
    pub pending: u64,
    /// Scheduled tasks.
    pub scheduled: u64,
    /// Started tasks.
    pub started: u64,
    /// Completed tasks. Always 0 in the document layout, which has no such list.
    pub complete: u64,
    /// Failed tasks. Always 0 in the document layout, which has no such list.
    pub failed: u64,
}

/// A registered listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ListenerInfo {
    /// Name.
    #[serde(rename = "listener")]
    pub name: String,
    /// Host part of the name.
    pub host: Option<String>,
    /// Pid part of the name.
    pub pid: Option<i64>,
    /// Number of tasks it holds.
    pub tasks: u64,
    /// Whether it is alive. `None` for an original, which sends no heartbeats.
    pub is_alive: Option<bool>,
}

impl BluequeQueue {
    /// Returns the stats of the queue.
    pub async fn stats(&self) -> Result<BluequeStats> {
        let values = reply::list(self.run(&scripts::STATS, Vec::new()).await?)?;
        let mut values = values.into_iter();
        let recorded = reply::text(values.next().unwrap_or(Value::Nil))?;
        let mut next = || {
            let value = values.next().unwrap_or(Value::Nil);
            reply::count(&value)
        };
        Ok(BluequeStats {
            recorded_listeners: Some(recorded).filter(|recorded| !recorded.is_empty()),
            listeners: next()?,
            pending: next()?,
            scheduled: next()?,
            started: next()?,
            complete: next()?,
            failed: next()?,
        })
    }

    /// Returns the registered listeners, sorted by name.
    pub async fn listeners(&self) -> Result<Vec<ListenerInfo>> {
        let mut listeners = Vec::new();
        let now_ms = self.now().await? * 1000.0;
        for name in self.listener_names().await? {
            let mut length = cmd("LLEN");
            length.arg(self.keys.reserved(&name).as_ref());
            let tasks = self.blueque.server.client.ask(&length).await?;
            let mut score = cmd("ZSCORE");
            score.arg(self.keys.heartbeats.as_ref()).arg(&name);
            let heartbeat = self.blueque.server.client.ask(&score).await?;
            let parts = host::parts(&name).map(|(host, pid)| (host.to_owned(), pid));
            listeners.push(ListenerInfo {
                host: parts.as_ref().map(|(host, _)| host.clone()),
                pid: parts.map(|(_, pid)| pid),
                tasks: reply::count(&tasks)?,
                is_alive: match heartbeat {
                    Value::Nil => None,
                    until => text(until)?.parse().ok().map(|until: f64| until > now_ms),
                },
                name,
            });
        }
        Ok(listeners)
    }

    /// Returns the names of all listeners, sorted, without duplicates.
    pub(super) async fn listener_names(&self) -> Result<Vec<String>> {
        let key: &Bytes = &self.keys.listeners;
        let mut names = self.blueque.scan("SSCAN", Some(key), None).await?;
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Parses text; numbers are formatted.
pub(super) fn text(value: Value) -> Result<String> {
    match value {
        Value::Double(number) => Ok(number.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        value => reply::text(value),
    }
}
