//! The registry of workers: arguments and replies of the scripts in `lua/workers`.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::Value;
use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand, WorkerRecord};
use windlass_core::{BootId, JobId, QueueName, Result, Timestamp};
use windlass_redis_link::reply::{self, Reply, unexpected_reply};

use crate::codec::damaged;
use crate::partition::text_arg;

/// The cursor of the first page, and the next cursor of the last page.
const START: &str = "0";

pub(crate) fn register_args(new: &NewWorker) -> Vec<Bytes> {
    let NewWorker {
        name,
        host,
        pid,
        version,
        ..
    } = new;
    vec![
        text_arg(new.boot.as_str()),
        Bytes::from(format!("{pid}\t{name}\t{host}\t{version}")),
        joined(new.queues.iter().map(|queue| queue.as_str())),
    ]
}

pub(crate) fn heartbeat_args(heartbeat: &Heartbeat) -> Vec<Bytes> {
    let running = heartbeat.running.iter();
    let running = running.flat_map(|(queue, id)| [queue.as_str(), id.as_str()]);
    vec![text_arg(heartbeat.boot.as_str()), joined(running)]
}

/// Decodes the reply to a heartbeat.
pub(crate) fn read_command(value: Value) -> Result<WorkerCommand> {
    WorkerCommand::from_text(&reply::text(value)?)
        .ok_or_else(|| unexpected_reply("it is not a worker command"))
}

pub(crate) fn command_args(boot: &BootId, command: WorkerCommand) -> Vec<Bytes> {
    vec![
        text_arg(boot.as_str()),
        Bytes::from_static(command.as_str().as_bytes()),
    ]
}

/// Decodes the reply to a command: whether the worker is known.
pub(crate) fn read_command_reply(value: Value) -> Result<bool> {
    match reply::text(value)?.as_str() {
        "queued" => Ok(true),
        "unknown" => Ok(false),
        _ => Err(unexpected_reply("it is neither `queued` nor `unknown`")),
    }
}

pub(crate) fn find_args(boot: &BootId) -> Vec<Bytes> {
    vec![text_arg(boot.as_str())]
}

/// The arguments to leave one queue or, with `None`, to remove the worker.
pub(crate) fn leave_args(boot: &BootId, queue: Option<&QueueName>) -> Vec<Bytes> {
    let queue = queue.map_or("", |queue| queue.as_str());
    vec![text_arg(boot.as_str()), text_arg(queue)]
}

/// Decodes the queues that `find` and `leave` return; `None` if the worker is unknown.
pub(crate) fn read_queues(value: Value) -> Result<Option<Vec<QueueName>>> {
    if matches!(value, Value::Nil | Value::Boolean(false)) {
        return Ok(None);
    }
    let text = reply::text(value)?;
    queues(&text)
        .map(Some)
        .ok_or_else(|| damaged("worker", "invalid queue name"))
}

/// The workers on the pages read so far.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    /// By boot id: pages may repeat workers.
    found: BTreeMap<BootId, WorkerRecord>,
    next: Option<String>,
}

impl Workers {
    pub(crate) fn page_args(&self) -> Vec<Bytes> {
        let next = self.next.as_deref().unwrap_or(START);
        vec![text_arg(next)]
    }

    /// Adds a page. Returns whether more follow.
    pub(crate) fn add_page(&mut self, value: Value) -> Result<bool> {
        let mut reply = Reply::list(value)?;
        let next = reply.text()?;
        let now = Timestamp::from_ms(reply.count()?);
        while !reply.is_empty() {
            let boot = reply.text()?;
            let last_seen = Timestamp::from_ms(reply.count()?);
            let worker = read_worker(&boot, last_seen, &reply.text()?, now)?;
            self.found.insert(worker.new.boot.clone(), worker);
        }
        let has_more = next != START;
        self.next = Some(next);
        Ok(has_more)
    }

    /// All workers found, ordered by boot id.
    pub(crate) fn into_vec(self) -> Vec<WorkerRecord> {
        self.found.into_values().collect()
    }
}

/// Decodes a record of four lines: command; facts; queues; running jobs.
fn read_worker(
    boot: &str,
    last_seen: Timestamp,
    record: &str,
    now: Timestamp,
) -> Result<WorkerRecord> {
    let bad = |what: &str| damaged(&format!("worker {boot:?}"), what);
    let mut lines = record.splitn(4, '\n');
    let mut line = || lines.next().ok_or_else(|| bad("missing line"));
    let command = WorkerCommand::from_text(line()?).ok_or_else(|| bad("invalid command"))?;
    let mut facts = line()?.splitn(5, '\t');
    let mut fact = || facts.next().ok_or_else(|| bad("missing field"));
    let started_at = fact()?.parse().map_err(|_| bad("invalid start time"))?;
    let pid = fact()?.parse().map_err(|_| bad("invalid process id"))?;
    let (name, host, version) = (fact()?, fact()?, fact()?);
    let queues = queues(line()?).ok_or_else(|| bad("invalid queues"))?;
    let running = jobs(line()?).ok_or_else(|| bad("invalid running jobs"))?;
    Ok(WorkerRecord {
        new: NewWorker {
            boot: BootId::new(boot).map_err(|_| bad("invalid boot id"))?,
            name: name.to_owned(),
            host: host.to_owned(),
            pid,
            version: version.to_owned(),
            queues,
        },
        running,
        command,
        started_at: Timestamp::from_ms(started_at),
        last_seen,
        silent_for: now.since(last_seen),
    })
}

fn joined<'a>(fields: impl Iterator<Item = &'a str>) -> Bytes {
    Bytes::from(fields.collect::<Vec<_>>().join("\t"))
}

/// The fields of a list separated by tabs.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    text.split('\t').filter(|_| !text.is_empty())
}

fn queues(text: &str) -> Option<Vec<QueueName>> {
    fields(text).map(|name| QueueName::new(name).ok()).collect()
}

fn jobs(text: &str) -> Option<Vec<(QueueName, JobId)>> {
    let mut fields = fields(text);
    let mut jobs = Vec::new();
    while let Some(queue) = fields.next() {
        jobs.push((
            QueueName::new(queue).ok()?,
            JobId::new(fields.next()?).ok()?,
        ));
    }
    Some(jobs)
}

#[cfg(test)]
mod tests;
