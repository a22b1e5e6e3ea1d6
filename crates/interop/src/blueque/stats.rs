//! How a queue stands, and who listens to it.

use bytes::Bytes;
use redis::{Value, cmd};
use windlass_core::Result;

use super::{Queue, host, scripts};
use crate::reply;

/// How many there are of each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of listeners as the table of queues has it; nothing for an unknown queue.
    pub figure: Option<String>,
    /// Listeners.
    pub listeners: u64,
    /// Tasks that wait.
    pub pending: u64,
    /// Tasks that are due later.
    pub scheduled: u64,
    /// Tasks that run.
    pub started: u64,
    /// Ids listed as complete; the design note has no such list.
    pub complete: u64,
    /// Ids listed as failed; the design note has no such list.
    pub failed: u64,
}

/// A listener as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownListener {
    /// Its name.
    pub name: String,
    /// The machine it says it is on.
    pub host: Option<String>,
    /// The number of its process there.
    pub pid: Option<i64>,
    /// How many tasks it holds.
    pub tasks: u64,
    /// Whether it is alive; nothing for an original, which gives no sign of life.
    pub is_alive: Option<bool>,
}

impl Queue {
    /// How many there are of each.
    pub async fn figures(&self) -> Result<Figures> {
        let values = reply::list(self.run(&scripts::FIGURES, Vec::new()).await?)?;
        let mut values = values.into_iter();
        let figure = reply::text(values.next().unwrap_or(Value::Nil))?;
        let mut next = || {
            let value = values.next().unwrap_or(Value::Nil);
            count(&value)
        };
        Ok(Figures {
            figure: Some(figure).filter(|figure| !figure.is_empty()),
            listeners: next()?,
            pending: next()?,
            scheduled: next()?,
            started: next()?,
            complete: next()?,
            failed: next()?,
        })
    }

    /// Who is listed as a listener, by name.
    pub async fn listeners(&self) -> Result<Vec<KnownListener>> {
        let mut listeners = Vec::new();
        let now_ms = self.now().await? * 1000.0;
        for name in self.listed().await? {
            let mut length = cmd("LLEN");
            length.arg(self.keys.reserved(&name).as_ref());
            let tasks = self.blueque.server.guest.ask(&length).await?;
            let mut score = cmd("ZSCORE");
            score.arg(self.keys.beats.as_ref()).arg(&name);
            let beat = self.blueque.server.guest.ask(&score).await?;
            let parts = host::parts(&name).map(|(host, pid)| (host.to_owned(), pid));
            listeners.push(KnownListener {
                host: parts.as_ref().map(|(host, _)| host.clone()),
                pid: parts.map(|(_, pid)| pid),
                tasks: count(&tasks)?,
                is_alive: match beat {
                    Value::Nil => None,
                    beat => words(beat)?.parse().ok().map(|until: f64| until > now_ms),
                },
                name,
            });
        }
        Ok(listeners)
    }

    /// The names of all listeners, each once.
    pub(super) async fn listed(&self) -> Result<Vec<String>> {
        let key: &Bytes = &self.keys.listeners;
        let mut names = self.blueque.scan("SSCAN", Some(key), None).await?;
        names.sort();
        names.dedup();
        Ok(names)
    }
}

fn count(value: &Value) -> Result<u64> {
    Ok(u64::try_from(reply::number(value)?).unwrap_or_default())
}

/// Text, also where the server answers a number of its own type.
pub(super) fn words(value: Value) -> Result<String> {
    match value {
        Value::Double(number) => Ok(number.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        value => reply::text(value),
    }
}
