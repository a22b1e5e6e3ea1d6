//! Starts tasks as processes and ends them.

use std::time::Duration;

use bytes::Bytes;
use redis::{Value, cmd};
use serde::Serialize;
use windlass_core::{Error, ErrorKind, Result};

use super::tasks::digest;
use super::{Worqr, arg, scripts};
use crate::scan::{parse_page, prefix_pattern};
use crate::{id, reply};

/// A task in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Unique id.
    pub id: String,
    /// The task as it was enqueued.
    pub task: Bytes,
}

/// Result of ending a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// This call ended the process.
    Ended,
    /// The process was not in progress: it had ended, or its task was returned to the queue. Nothing
    /// was changed or published.
    Gone,
}

/// Message about a finished process. Field names and their order are the original's.
#[derive(Serialize)]
struct NewDoneMessage<'a, R: ?Sized> {
    #[serde(rename = "workerId")]
    worker_id: &'a str,
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
}

impl Worqr {
    /// Starts the next task of a queue as a process of this worker (`dequeue`). The worker must be
    /// alive and serve the queue. Returns `None` if the queue is empty.
    pub async fn start_task(&self, worker: &str, queue: &str) -> Result<Option<Process>> {
        let (id, args) = self.new_process(worker, queue)?;
        let reply = self.run_repeating(&scripts::START, args).await?;
        parse_start(reply, id, worker, queue)
    }

    /// Like [`Worqr::start_task`], but waits for a task. If the outcome is unknown, a started task is
    /// returned when the worker ends.
    pub async fn start_task_within(
        &self,
        worker: &str,
        queue: &str,
        wait: Duration,
    ) -> Result<Option<Process>> {
        let (id, args) = self.new_process(worker, queue)?;
        let list = self.keys.queue(queue);
        let script = scripts::START.for_layout(self.keys.layout());
        let args = self.with_prefix(args);
        let waiting =
            self.server
                .client
                .wait_then_run(list.as_bytes(), wait, script, Vec::new(), args);
        parse_start(waiting.await?, id, worker, queue)
    }

    /// Generates the process id here, so that the call can be retried.
    fn new_process(&self, worker: &str, queue: &str) -> Result<(String, Vec<Bytes>)> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let id = format!("{queue}_{}", id::uuid()?);
        let args = vec![arg(worker), arg(queue), arg(&id)];
        Ok((id, args))
    }

    /// Stops a process (`stopProcess`): returns its task to the front of the queue and notifies the
    /// workers.
    pub async fn stop_task(&self, worker: &str, process: &str) -> Result<ProcessEnd> {
        self.check_worker(worker)?;
        Self::check_process(process)?;
        let args = vec![arg(worker), arg(process)];
        parse_end(self.run(&scripts::STOP, args).await?)
    }

    /// Finishes a process without a result (`finishProcess`).
    pub async fn finish_task(&self, worker: &str, process: &str) -> Result<ProcessEnd> {
        self.finish(worker, process, None::<&()>).await
    }

    /// Finishes a process with a result (`finishProcess`). The result is published even if it is 0,
    /// `false` or empty.
    pub async fn finish_task_with(
        &self,
        worker: &str,
        process: &str,
        result: &(impl Serialize + ?Sized),
    ) -> Result<ProcessEnd> {
        self.finish(worker, process, Some(result)).await
    }

    async fn finish(
        &self,
        worker: &str,
        process: &str,
        result: Option<&(impl Serialize + ?Sized)>,
    ) -> Result<ProcessEnd> {
        self.check_worker(worker)?;
        Self::check_process(process)?;
        let Some(task) = self.task_of(process).await? else {
            return Ok(ProcessEnd::Gone);
        };
        let message = serde_json::to_vec(&NewDoneMessage {
            worker_id: worker,
            task: &String::from_utf8_lossy(&task),
            result,
        });
        let message = message.map_err(|error| {
            let help = "use a result that can be serialized as JSON";
            Error::invalid("result", &error, help)
        })?;
        let lock = digest(&task);
        // The script compares the task, so that a change between the two calls is detected.
        let args = vec![arg(worker), arg(process), task, arg(&lock), message.into()];
        parse_end(self.run(&scripts::FINISH, args).await?)
    }

    /// Returns whether a process is in progress: it has not ended and its task was not returned.
    pub(crate) async fn is_in_progress(&self, process: &str) -> Result<bool> {
        Ok(self.task_of(process).await?.is_some())
    }

    /// Returns the job id of a process that a bridge has started: the same again for a task that was
    /// taken back from a killed bridge. Returns `None` if the process was taken back.
    pub(crate) async fn bridged_job(&self, queue: &str, process: &str) -> Result<Option<String>> {
        let args = vec![arg(queue), arg(process)];
        let id = self.run_repeating(&scripts::BRIDGED, args).await?;
        let id = reply::maybe_bytes(id)?;
        Ok(id.map(|id| String::from_utf8_lossy(&id).into_owned()))
    }

    /// Forgets the job ids of tasks that were taken back from bridges and taken by other workers.
    pub(crate) async fn forget_bridged_jobs(&self, queue: &str) -> Result<()> {
        self.bridged_job(queue, "").await.map(drop)
    }

    async fn task_of(&self, process: &str) -> Result<Option<Bytes>> {
        let first = cmd("LINDEX").arg(self.keys.process(process)).arg(0).take();
        reply::maybe_bytes(self.server.client.ask(&first).await?)
    }

    /// Returns all processes in progress. In the document layout, only those of registered workers.
    pub async fn processes(&self) -> Result<Vec<Process>> {
        self.find_processes(None).await
    }

    /// Returns the ids of the processes that run this task (`getMatchingProcesses`).
    pub async fn matching_processes(&self, task: impl Into<Bytes>) -> Result<Vec<String>> {
        let found = self.find_processes(Some(task.into())).await?;
        Ok(found.into_iter().map(|process| process.id).collect())
    }

    async fn find_processes(&self, task: Option<Bytes>) -> Result<Vec<Process>> {
        let pattern = prefix_pattern(&self.keys.process(""));
        let filter = if task.is_some() { "1" } else { "" };
        let task = task.unwrap_or_default();
        let mut found = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let args = vec![arg(&cursor), arg(filter), task.clone(), arg(&pattern)];
            let reply = self.run_repeating(&scripts::PROCESSES, args).await?;
            let (next, parts) = parse_page(reply)?;
            let mut parts = parts.into_iter();
            while let (Some(id), Some(task)) = (parts.next(), parts.next()) {
                let (id, task) = (reply::text(id)?, reply::bytes(task)?);
                found.push(Process { id, task });
            }
            if next == "0" {
                break;
            }
            cursor = next;
        }
        // A scan may return a key twice.
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.dedup_by(|one, other| one.id == other.id);
        Ok(found)
    }
}

fn parse_start(reply: Value, id: String, worker: &str, queue: &str) -> Result<Option<Process>> {
    let mut parts = reply::list(reply)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    match reply::text(next())?.as_str() {
        "started" => {
            let task = reply::bytes(next())?;
            Ok(Some(Process { id, task }))
        }
        "empty" => Ok(None),
        "idle" => Err(Error::new(
            ErrorKind::Conflict,
            format!("worker {worker} does not serve queue {queue}"),
            "start work on it first: `windlass interop worqr start-work QUEUE --worker ID`",
        )),
        _ => Err(expired(worker)),
    }
}

/// The worker's timer ran out. It gets no tasks, because a cleanup could return them immediately.
pub(super) fn expired(worker: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("worker {worker} is not alive: its timer ran out"),
        "start it again, and send keep-alive more often than its timeout",
    )
}

fn parse_end(reply: Value) -> Result<ProcessEnd> {
    Ok(match reply::text(reply)?.as_str() {
        "gone" => ProcessEnd::Gone,
        _ => ProcessEnd::Ended,
    })
}
