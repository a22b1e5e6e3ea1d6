//! A Windlass listener: takes tasks and sends heartbeats.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use serde_json::json;
use tokio::time::Instant;
use windlass_core::{Error, Result};

use super::channel::ChannelSubscription;
use super::{BluequeLayout, BluequeQueue, Task, error, host, scripts};
use crate::{id, reply};

/// How long a listener stays alive without a heartbeat.
pub(super) const ALIVE_DEFAULT: Duration = Duration::from_secs(30);

/// Number of heartbeats in that time.
pub(super) const HEARTBEATS: u32 = 3;

/// Maximum time of one blocking call.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Maximum number of ids without a task to skip per script call.
const SKIP_MAX: &str = "100";

/// Name and lifetime of a listener.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListenerOptions {
    /// `HOST_PID`, which must be unique (default: `HOST+NONCE_PID` of this process). Originals do not
    /// take a default name for a listener on their own host, so they do not check its pid, which
    /// another process may have by then.
    pub name: Option<String>,
    /// How long it stays alive without a heartbeat (default: 30s). After that its tasks go to others.
    pub alive: Duration,
}

impl Default for ListenerOptions {
    fn default() -> Self {
        Self {
            name: None,
            alive: ALIVE_DEFAULT,
        }
    }
}

/// A listener of one queue. It handles one call at a time.
#[derive(Debug)]
pub struct BluequeListener {
    pub(super) queue: BluequeQueue,
    pub(super) name: String,
    alive: Duration,
    /// Ticket of a call that may have taken a task without a reply.
    ticket: Option<String>,
    subscription: ChannelSubscription,
}

/// Reply of a script that takes a task.
pub(super) enum TakeReply {
    Task(Box<Task>),
    Nothing,
    /// Only ids without a task were found; there may be tasks behind them.
    Again,
}

impl BluequeListener {
    pub(super) async fn join(queue: BluequeQueue, options: ListenerOptions) -> Result<Self> {
        let name = match options.name {
            Some(name) => valid_name(name)?,
            // Distinguishes listeners of the same process and of earlier processes.
            None => format!(
                "{}+{}_{}",
                host::name(),
                id::random_hex::<4>()?,
                std::process::id()
            ),
        };
        let listener = Self {
            queue,
            name,
            alive: options.alive.max(Duration::from_millis(1)),
            ticket: None,
            subscription: ChannelSubscription::default(),
        };
        listener
            .queue
            .run(&scripts::JOIN, listener.heartbeat_args())
            .await?;
        Ok(listener)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how long the listener stays alive without a heartbeat.
    pub fn alive(&self) -> Duration {
        self.alive
    }

    /// Takes the next task, waiting up to `wait`. Also counts as a heartbeat.
    ///
    /// A failed call can be retried: if it had taken a task, the retry returns that task.
    pub async fn listen(&mut self, wait: Duration) -> Result<Option<Task>> {
        let until = Instant::now() + wait;
        let mut found = self.take().await?;
        loop {
            match found {
                TakeReply::Task(task) => {
                    self.ticket = None;
                    // No need for messages while there is work.
                    self.subscription.unsubscribe();
                    return Ok(Some(*task));
                }
                TakeReply::Again => found = self.take().await?,
                TakeReply::Nothing => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    found = self.wait_and_take(left).await?;
                }
            }
        }
    }

    async fn wait_and_take(&mut self, left: Duration) -> Result<TakeReply> {
        let wait = left.min(WAIT_MAX).min(self.alive / HEARTBEATS);
        if self.queue.blueque.layout == BluequeLayout::Document {
            if self.subscription.subscribe(&self.queue).await? {
                // A task may have arrived between the last pop and the subscription.
                return self.take().await;
            }
            self.subscription.wait(wait).await;
            return self.take().await;
        }
        let args = self.take_args()?;
        let keys = &self.queue.keys;
        let client = &self.queue.blueque.server.client;
        let reply = client
            .wait_then_run(
                &keys.pending,
                wait,
                &scripts::LISTEN,
                keys.declared(),
                keys.args(args),
            )
            .await;
        match reply {
            Ok(value) => self.parse_take(value),
            Err(error) if error.is_unknown() => self.take().await,
            Err(error) => Err(error),
        }
    }

    async fn take(&mut self) -> Result<TakeReply> {
        let args = self.take_args()?;
        let value = self.queue.run(&scripts::LISTEN, args).await?;
        self.parse_take(value)
    }

    fn take_args(&mut self) -> Result<Vec<Bytes>> {
        Ok(vec![
            Bytes::from(self.name.clone()),
            Bytes::from(self.alive.as_millis().to_string()),
            pid(),
            Bytes::from(self.ticket()?),
            Bytes::from_static(SKIP_MAX.as_bytes()),
        ])
    }

    /// Returns the ticket of the next call that may take a task.
    pub(super) fn ticket(&mut self) -> Result<String> {
        if let Some(ticket) = &self.ticket {
            return Ok(ticket.clone());
        }
        let ticket = id::random_hex::<8>()?;
        self.ticket = Some(ticket.clone());
        Ok(ticket)
    }

    pub(super) fn clear_ticket(&mut self) {
        self.ticket = None;
    }

    /// Parses the reply of a script that takes a task.
    pub(super) fn parse_take(&self, value: Value) -> Result<TakeReply> {
        let mut values = reply::list(value)?.into_iter();
        let mut next = || values.next().unwrap_or(Value::Nil);
        match reply::text(next())?.as_str() {
            "task" => {
                let id = reply::text(next())?;
                let fields = reply::list(next())?;
                let task = Task::read(self.queue.blueque.layout, &id, fields)?;
                Ok(TakeReply::Task(Box::new(task)))
            }
            "gone" => Err(error::declared_lost(&self.name)),
            "again" => Ok(TakeReply::Again),
            _ => Ok(TakeReply::Nothing),
        }
    }

    /// Sends a heartbeat. Fails if the listener was declared lost.
    pub async fn send_heartbeat(&self) -> Result<()> {
        let args = self.heartbeat_args();
        self.queue.send_heartbeat(&self.name, args).await
    }

    /// Unregisters the listener. Returns false if it still holds tasks; a cleanup recovers these once the
    /// listener's time is over.
    pub async fn leave(self) -> Result<bool> {
        let args = vec![Bytes::from(self.name)];
        let reply = self.queue.run(&scripts::LEAVE, args).await?;
        Ok(reply::text(reply)? == "left")
    }

    /// Returns the arguments of a heartbeat: name, time and record.
    pub(super) fn heartbeat_args(&self) -> Vec<Bytes> {
        heartbeat_args(self.queue.name(), &self.name, self.alive)
    }
}

impl BluequeQueue {
    /// Sends a heartbeat for a listener by name: it stays alive for `alive` from now.
    pub async fn heartbeat(&self, listener: &str, alive: Duration) -> Result<()> {
        let alive = alive.max(Duration::from_millis(1));
        let args = heartbeat_args(self.name(), listener, alive);
        self.send_heartbeat(listener, args).await
    }

    pub(super) async fn send_heartbeat(&self, listener: &str, args: Vec<Bytes>) -> Result<()> {
        match reply::text(self.run(&scripts::HEARTBEAT, args).await?)?.as_str() {
            "alive" => Ok(()),
            _ => Err(error::declared_lost(listener)),
        }
    }
}

fn heartbeat_args(queue: &str, name: &str, alive: Duration) -> Vec<Bytes> {
    let record = json!({
        "id": name,
        "host": host::name(),
        "pid": std::process::id(),
        "queue": queue,
        "alive_ms": u64::try_from(alive.as_millis()).unwrap_or(u64::MAX),
        "client": concat!("windlass ", env!("CARGO_PKG_VERSION")),
    });
    vec![
        Bytes::from(name.to_owned()),
        Bytes::from(alive.as_millis().to_string()),
        Bytes::from(record.to_string()),
    ]
}

pub(super) fn pid() -> Bytes {
    Bytes::from(std::process::id().to_string())
}

/// Checks a name. Originals parse the number after the last `_` of every listener, and fail without
/// one.
fn valid_name(name: String) -> Result<String> {
    let has_no_spaces = !name.contains(|c: char| c.is_whitespace() || c.is_control());
    match host::parts(&name) {
        Some((host, _)) if has_no_spaces && !host.is_empty() => Ok(name),
        _ => Err(Error::invalid(
            "listener",
            format!("{name:?} does not have the form HOST_PID"),
            "use a name like web1.example.org_4711",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_originals_cannot_parse_is_rejected() {
        for name in ["", "a", "_1", "a_", "a_b", "a b_1", "a_1\n"] {
            assert!(valid_name(name.to_owned()).is_err(), "{name:?}");
        }
        assert!(valid_name("web+ff_1".to_owned()).is_ok());
    }
}
