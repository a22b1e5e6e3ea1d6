//! A listener of ours: takes tasks, and is alive as long as it says so.

use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use serde_json::json;
use tokio::time::Instant;
use windlass_core::{Error, Result};

use super::wake::Wake;
use super::{Layout, Queue, Task, host, id, refusal, scripts};
use crate::reply;

/// How long a listener is alive without a sign of life.
pub(super) const ALIVE_DEFAULT: Duration = Duration::from_secs(30);

/// A sign of life is given this often in that time.
pub(super) const BEATS: u32 = 3;

/// The longest that one call waits at the server.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How many ids without a task one step passes over.
const PASSED_OVER: &str = "100";

/// Who listens, and for how long it is believed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListenerOptions {
    /// `HOST_PID`. Without one it is a new name of this machine and process, which no original takes
    /// for one of its own host: they would ask for the number of the process, and that may be
    /// another one by then. Whoever gives a name sees to it that nobody else has it.
    pub name: Option<String>,
    /// How long it is alive without a sign of life; then its tasks go to others.
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

/// A listener of one queue. It is one in number: its calls follow each other.
#[derive(Debug)]
pub struct Listener {
    pub(super) queue: Queue,
    pub(super) name: String,
    alive: Duration,
    /// Of the call that may have taken a task without our knowing.
    ticket: Option<String>,
    wake: Wake,
}

/// What a step found.
pub(super) enum Found {
    Task(Box<Task>),
    Nothing,
    /// Only ids without a task: there may be more behind them.
    Again,
}

impl Listener {
    pub(super) async fn join(queue: Queue, options: ListenerOptions) -> Result<Self> {
        let name = match options.name {
            Some(name) => checked(name)?,
            None => format!("{}+{}_{}", host::name(), id::nonce()?, std::process::id()),
        };
        let listener = Self {
            queue,
            name,
            alive: options.alive.max(Duration::from_millis(1)),
            ticket: None,
            wake: Wake::default(),
        };
        listener.queue.run(&scripts::JOIN, listener.signs()).await?;
        Ok(listener)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long it is alive without a sign of life.
    pub fn alive(&self) -> Duration {
        self.alive
    }

    /// Takes the next task, or waits for one; nothing when the time is over. It is a sign of life.
    ///
    /// A call that failed may be made again: if its task was taken, it is answered then.
    pub async fn listen(&mut self, wait: Duration) -> Result<Option<Task>> {
        let until = Instant::now() + wait;
        let mut found = self.take().await?;
        loop {
            match found {
                Found::Task(task) => {
                    self.ticket = None;
                    // Nothing is to be heard while there is work to do.
                    self.wake.end();
                    return Ok(Some(*task));
                }
                Found::Again => found = self.take().await?,
                Found::Nothing => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    found = self.wait_and_take(left).await?;
                }
            }
        }
    }

    async fn wait_and_take(&mut self, left: Duration) -> Result<Found> {
        let wait = left.min(WAIT_MAX).min(self.alive / BEATS);
        if self.queue.blueque.layout == Layout::Document {
            if self.wake.begin(&self.queue).await? {
                // What came between the look and the subscription was not announced to us.
                return self.take().await;
            }
            self.wake.wait(wait).await;
            return self.take().await;
        }
        let args = self.request()?;
        let keys = &self.queue.keys;
        let guest = &self.queue.blueque.server.guest;
        let answer = guest
            .wait_then_run(
                &keys.pending,
                wait,
                &scripts::LISTEN,
                keys.declared(),
                keys.args(args),
            )
            .await;
        match answer {
            Ok(value) => self.found(value),
            Err(error) if error.is_unknown() => self.take().await,
            Err(error) => Err(error),
        }
    }

    async fn take(&mut self) -> Result<Found> {
        let args = self.request()?;
        let value = self.queue.run(&scripts::LISTEN, args).await?;
        self.found(value)
    }

    fn request(&mut self) -> Result<Vec<Bytes>> {
        Ok(vec![
            Bytes::from(self.name.clone()),
            Bytes::from(self.alive.as_millis().to_string()),
            pid(),
            Bytes::from(self.ticket()?),
            Bytes::from_static(PASSED_OVER.as_bytes()),
        ])
    }

    /// The ticket of the next call that may take a task.
    pub(super) fn ticket(&mut self) -> Result<String> {
        if let Some(ticket) = &self.ticket {
            return Ok(ticket.clone());
        }
        let ticket = id::ticket()?;
        self.ticket = Some(ticket.clone());
        Ok(ticket)
    }

    pub(super) fn ticket_used(&mut self) {
        self.ticket = None;
    }

    /// Reads the answer of a step that takes.
    pub(super) fn found(&self, value: Value) -> Result<Found> {
        let mut values = reply::list(value)?.into_iter();
        let mut next = || values.next().unwrap_or(Value::Nil);
        match reply::text(next())?.as_str() {
            "task" => {
                let id = reply::text(next())?;
                let fields = reply::list(next())?;
                let task = Task::read(self.queue.blueque.layout, &id, fields)?;
                Ok(Found::Task(Box::new(task)))
            }
            "gone" => Err(refusal::condemned(&self.name)),
            "again" => Ok(Found::Again),
            _ => Ok(Found::Nothing),
        }
    }

    /// Gives a sign of life; refused when it was declared lost.
    pub async fn beat(&self) -> Result<()> {
        self.queue.send_beat(&self.name, self.signs()).await
    }

    /// Is listed and counted no more; false when it still holds tasks, which are found when its
    /// time is over.
    pub async fn leave(self) -> Result<bool> {
        let args = vec![Bytes::from(self.name)];
        let word = self.queue.run(&scripts::LEAVE, args).await?;
        Ok(reply::text(word)? == "left")
    }

    /// Name, time and record: what a sign of life consists of.
    pub(super) fn signs(&self) -> Vec<Bytes> {
        signs(self.queue.name(), &self.name, self.alive)
    }
}

impl Queue {
    /// Gives a sign of life for a listener by its name: it is alive for so long from now on.
    pub async fn beat(&self, listener: &str, alive: Duration) -> Result<()> {
        let alive = alive.max(Duration::from_millis(1));
        self.send_beat(listener, signs(self.name(), listener, alive))
            .await
    }

    pub(super) async fn send_beat(&self, listener: &str, signs: Vec<Bytes>) -> Result<()> {
        match reply::text(self.run(&scripts::BEAT, signs).await?)?.as_str() {
            "alive" => Ok(()),
            _ => Err(refusal::condemned(listener)),
        }
    }
}

fn signs(queue: &str, name: &str, alive: Duration) -> Vec<Bytes> {
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

/// Originals read the number behind the last `_` of every listener, and fail where there is none.
fn checked(name: String) -> Result<String> {
    let is_plain = !name.contains(|c: char| c.is_whitespace() || c.is_control());
    match host::parts(&name) {
        Some((host, _)) if is_plain && !host.is_empty() => Ok(name),
        _ => Err(Error::invalid(
            "listener",
            format!("{name:?} is not a host, `_` and a number"),
            "write it like web1.example.org_4711",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_originals_cannot_read_is_refused() {
        for name in ["", "a", "_1", "a_", "a_b", "a b_1", "a_1\n"] {
            assert!(checked(name.to_owned()).is_err(), "{name:?}");
        }
        assert!(checked("web+ff_1".to_owned()).is_ok());
    }
}
