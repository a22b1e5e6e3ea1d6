//! Starts tasks as processes, and ends them.

use std::time::Duration;

use bytes::Bytes;
use redis::{Value, cmd};
use serde::Serialize;
use windlass_core::{Error, ErrorKind, Result};

use super::keys::Keys;
use super::search::page;
use super::tasks::digest;
use super::{Worqr, arg, nonce, scripts};
use crate::reply;

/// A task in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its name, which nothing before and after it has.
    pub id: String,
    /// The bytes that were put into the queue.
    pub task: Bytes,
}

/// What came of ending a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It is ended, by this call.
    Ended,
    /// It was not in progress: it was ended before, or its task went back into the queue. Nothing
    /// was changed, and nothing was published.
    Gone,
}

/// What is told when a process is done; the names and their order are the original's.
#[derive(Serialize)]
struct DoneMessage<'a, R: ?Sized> {
    #[serde(rename = "workerId")]
    worker_id: &'a str,
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
}

impl Worqr {
    /// Starts the next task of a queue as a process of this worker (`dequeue`), which has to live
    /// and to serve the queue; nothing where no task waits.
    pub async fn start_task(&self, worker: &str, queue: &str) -> Result<Option<Process>> {
        let (id, args) = self.new_process(worker, queue)?;
        let answer = self.run_repeating(&scripts::START, args).await?;
        started(answer, id, worker, queue)
    }

    /// As [`Worqr::start_task`], and waits for a task where there is none. Where the outcome is
    /// unknown the task comes back with the worker's end.
    pub async fn start_task_within(
        &self,
        worker: &str,
        queue: &str,
        wait: Duration,
    ) -> Result<Option<Process>> {
        let (id, args) = self.new_process(worker, queue)?;
        let list = self.keys.queue(queue);
        let script = scripts::START.of(self.keys.layout());
        let args = self.with(args);
        let waiting = self
            .guest
            .wait_then_run(list.as_bytes(), wait, script, Vec::new(), args);
        started(waiting.await?, id, worker, queue)
    }

    /// The name is drawn here, so that the call may be repeated.
    fn new_process(&self, worker: &str, queue: &str) -> Result<(String, Vec<Bytes>)> {
        self.check_worker(worker)?;
        self.check_queue(queue)?;
        let id = format!("{queue}_{}", nonce::uuid()?);
        let args = vec![arg(worker), arg(queue), arg(&id)];
        Ok((id, args))
    }

    /// Gives up a process (`stopProcess`): its task goes back to the front of the queue, and the
    /// workers are told.
    pub async fn stop_task(&self, worker: &str, process: &str) -> Result<Ended> {
        self.check_worker(worker)?;
        Self::check_process(process)?;
        let args = vec![arg(worker), arg(process)];
        ended(self.run(&scripts::STOP, args).await?)
    }

    /// Ends a process that has no result (`finishProcess`).
    pub async fn finish_task(&self, worker: &str, process: &str) -> Result<Ended> {
        self.finish(worker, process, None::<&()>).await
    }

    /// Ends a process with a result, which is told as it is, be it 0, `false` or empty
    /// (`finishProcess`).
    pub async fn finish_task_with(
        &self,
        worker: &str,
        process: &str,
        result: &(impl Serialize + ?Sized),
    ) -> Result<Ended> {
        self.finish(worker, process, Some(result)).await
    }

    async fn finish(
        &self,
        worker: &str,
        process: &str,
        result: Option<&(impl Serialize + ?Sized)>,
    ) -> Result<Ended> {
        self.check_worker(worker)?;
        Self::check_process(process)?;
        let Some(task) = self.task_of(process).await? else {
            return Ok(Ended::Gone);
        };
        let message = serde_json::to_vec(&DoneMessage {
            worker_id: worker,
            task: &String::from_utf8_lossy(&task),
            result,
        });
        let message = message.map_err(|error| {
            let help = "give a result that JSON can express";
            Error::invalid("result", &error, help)
        })?;
        let lock = digest(&task);
        // The script compares the task: nobody can have changed it unseen.
        let args = vec![arg(worker), arg(process), task, arg(&lock), message.into()];
        ended(self.run(&scripts::FINISH, args).await?)
    }

    /// Whether a process is in progress: it was not ended, and its task did not go back.
    pub(crate) async fn is_in_progress(&self, process: &str) -> Result<bool> {
        Ok(self.task_of(process).await?.is_some())
    }

    async fn task_of(&self, process: &str) -> Result<Option<Bytes>> {
        let first = cmd("LINDEX").arg(self.keys.process(process)).arg(0).take();
        reply::maybe_bytes(self.guest.ask(&first).await?)
    }

    /// Everything in progress. In the document's layout: at workers that are noted.
    pub async fn processes(&self) -> Result<Vec<Process>> {
        self.find_processes(None).await
    }

    /// The processes that are at this task (`getMatchingProcesses`).
    pub async fn matching_processes(&self, task: impl Into<Bytes>) -> Result<Vec<String>> {
        let found = self.find_processes(Some(task.into())).await?;
        Ok(found.into_iter().map(|process| process.id).collect())
    }

    async fn find_processes(&self, task: Option<Bytes>) -> Result<Vec<Process>> {
        let pattern = Keys::pattern(&self.keys.process(""));
        let is_one = if task.is_some() { "1" } else { "" };
        let task = task.unwrap_or_default();
        let mut found = Vec::new();
        let mut cursor = "0".to_owned();
        loop {
            let args = vec![arg(&cursor), arg(is_one), task.clone(), arg(&pattern)];
            let answer = self.run_repeating(&scripts::PROCESSES, args).await?;
            let (next, parts) = page(answer)?;
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
        // A search may show a key twice.
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.dedup_by(|one, other| one.id == other.id);
        Ok(found)
    }
}

fn started(answer: Value, id: String, worker: &str, queue: &str) -> Result<Option<Process>> {
    let mut parts = reply::list(answer)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    match reply::text(next())?.as_str() {
        "started" => {
            let task = reply::bytes(next())?;
            Ok(Some(Process { id, task }))
        }
        "empty" => Ok(None),
        "idle" => Err(Error::new(
            ErrorKind::Conflict,
            format!("worker {worker} does not serve the queue {queue}"),
            "start work there first: start_work, or `windlass interop worqr start-work`",
        )),
        _ => Err(expired(worker)),
    }
}

/// A worker whose timer ran out gets nothing: whatever it started could be taken back at once.
pub(super) fn expired(worker: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("worker {worker} failed to stay alive: its timer ran out"),
        "start it again, and keep it alive more often than its timer runs",
    )
}

fn ended(answer: Value) -> Result<Ended> {
    Ok(match reply::text(answer)?.as_str() {
        "gone" => Ended::Gone,
        _ => Ended::Ended,
    })
}
