//! The registry of workers: what the scripts of `lua/workers` are told, and what they reply.

use std::collections::BTreeMap;

use bytes::Bytes;
use redis::Value;
use windlass_core::limits::WORKER_SILENCE_MAX;
use windlass_core::{
    BootId, Error, Heartbeat, JobId, NewWorker, QueueName, Result, Timestamp, WorkerCommand,
    WorkerRecord,
};

use crate::codec::damaged;
use crate::reply::{self, Reply, short};

/// Where the first page of workers begins, and what the last page names as the next.
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
        boot_arg(&new.boot),
        Bytes::from(format!("{pid}\t{name}\t{host}\t{version}")),
        joined(new.queues.iter().map(|queue| queue.as_str())),
    ]
}

pub(crate) fn heartbeat_args(heartbeat: &Heartbeat) -> Vec<Bytes> {
    let running = heartbeat.running.iter();
    let running = running.flat_map(|(queue, id)| [queue.as_str(), id.as_str()]);
    vec![boot_arg(&heartbeat.boot), joined(running)]
}

/// What a heartbeat was told.
pub(crate) fn read_command(value: Value) -> Result<WorkerCommand> {
    WorkerCommand::from_text(&reply::text(value)?)
        .ok_or_else(|| short("it is no word for a worker"))
}

pub(crate) fn command_args(boot: &BootId, told: WorkerCommand) -> Vec<Bytes> {
    vec![boot_arg(boot), Bytes::from_static(told.as_str().as_bytes())]
}

/// Whether anybody knows the worker that word was left for.
pub(crate) fn read_command_reply(value: Value) -> Result<bool> {
    match reply::text(value)?.as_str() {
        "queued" => Ok(true),
        "unknown" => Ok(false),
        _ => Err(short("it is neither told nor unknown")),
    }
}

pub(crate) fn find_args(boot: &BootId) -> Vec<Bytes> {
    vec![boot_arg(boot)]
}

/// A worker leaves one queue or, with `None`, all for good.
pub(crate) fn leave_args(boot: &BootId, queue: Option<&QueueName>) -> Vec<Bytes> {
    let queue = queue.map_or("", |queue| queue.as_str());
    vec![boot_arg(boot), Bytes::copy_from_slice(queue.as_bytes())]
}

/// The queues that `find` and `leave` name; `None` when nobody knows the worker.
pub(crate) fn read_queues(value: Value) -> Result<Option<Vec<QueueName>>> {
    if matches!(value, Value::Nil | Value::Boolean(false)) {
        return Ok(None);
    }
    let text = reply::text(value)?;
    queues(&text)
        .map(Some)
        .ok_or_else(|| damaged("worker", "a queue of it"))
}

/// The workers on the pages read so far.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    /// By their boots: a page may repeat what an earlier one had.
    found: BTreeMap<BootId, WorkerRecord>,
    next: Option<String>,
}

impl Workers {
    /// The arguments for the next page.
    pub(crate) fn page_args(&self) -> Vec<Bytes> {
        let next = self.next.as_deref().unwrap_or(START);
        vec![Bytes::copy_from_slice(next.as_bytes())]
    }

    /// Adds a page; answers whether more follow.
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

    /// All that were found, in the order of their boot ids.
    pub(crate) fn into_vec(self) -> Vec<WorkerRecord> {
        self.found.into_values().collect()
    }
}

/// Reads one record: told; facts; queues; what it runs.
fn read_worker(
    boot: &str,
    last_seen: Timestamp,
    record: &str,
    now: Timestamp,
) -> Result<WorkerRecord> {
    let bad = |what: &str| unreadable(boot, what);
    let mut lines = record.splitn(4, '\n');
    let mut line = || lines.next().ok_or_else(|| bad("a line is missing"));
    let told = WorkerCommand::from_text(line()?).ok_or_else(|| bad("what it will be told"))?;
    let mut facts = line()?.splitn(5, '\t');
    let mut fact = || facts.next().ok_or_else(|| bad("a fact is missing"));
    let started_at = fact()?.parse().map_err(|_| bad("when it began"))?;
    let pid = fact()?.parse().map_err(|_| bad("its process"))?;
    let (name, host, version) = (fact()?, fact()?, fact()?);
    let queues = queues(line()?).ok_or_else(|| bad("its queues"))?;
    let running = jobs(line()?).ok_or_else(|| bad("what it runs"))?;
    Ok(WorkerRecord {
        new: NewWorker {
            boot: BootId::new(boot).map_err(|_| bad("its id"))?,
            name: name.to_owned(),
            host: host.to_owned(),
            pid,
            version: version.to_owned(),
            queues,
        },
        is_busy: !running.is_empty(),
        running,
        command: told,
        started_at: Timestamp::from_ms(started_at),
        last_seen,
        is_silent: now.since(last_seen) >= WORKER_SILENCE_MAX,
    })
}

fn unreadable(boot: &str, what: &str) -> Error {
    damaged(&format!("worker {boot:?}"), what)
}

fn boot_arg(boot: &BootId) -> Bytes {
    Bytes::copy_from_slice(boot.as_str().as_bytes())
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> Bytes {
    Bytes::from(words.collect::<Vec<_>>().join("\t"))
}

/// Words with tabs between; no text is no words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('\t').filter(|_| !text.is_empty())
}

fn queues(text: &str) -> Option<Vec<QueueName>> {
    words(text).map(|name| QueueName::new(name).ok()).collect()
}

fn jobs(text: &str) -> Option<Vec<(QueueName, JobId)>> {
    let mut words = words(text);
    let mut jobs = Vec::new();
    while let Some(queue) = words.next() {
        jobs.push((QueueName::new(queue).ok()?, JobId::new(words.next()?).ok()?));
    }
    Some(jobs)
}

#[cfg(test)]
mod tests;
