//! Runs a program for each task, one at a time, and finishes tasks that are cancelled meanwhile.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use windlass::{Bytes, ErrorKind};
use windlass_exec::{Launch, ProgramExit};
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print;
use crate::commands::runner::{Runner, RunnerArguments, until_signal};
use crate::worqr::{
    Process, ProcessEnd, WorkerOptions, WorkerState, Worqr, WorqrEvent, WorqrListener, WorqrWorker,
};

/// How long one call waits for a task. Short, because it is not interrupted by a stop signal: a task
/// could be started without a reply.
const TASK_WAIT: Duration = Duration::from_secs(1);

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "If CMD exits with status 0, the task is finished, and its stdout is the result: JSON, or else a string. \
    Otherwise the task returns to the front and is tried again. If the task is cancelled, CMD is stopped and the task is \
    finished. CMD gets the task on stdin and the variables WINDLASS_TASK_ID and WINDLASS_QUEUE. It is killed when this \
    process ends; an interrupted task returns to the front.\n\n\
    While it runs, this command also cleans up after dead workers.\n\n\
    Example:\n  windlass interop worqr run mail -- ./send-mail"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    runner: RunnerArguments,
}

/// A worker of one queue.
struct TaskWorker {
    worker: WorqrWorker,
    listener: WorqrListener,
    queue: String,
    runner: Runner,
}

/// Number of tasks by outcome.
#[derive(Debug, Default, Serialize)]
struct Summary {
    finished: u64,
    cancelled: u64,
    failed: u64,
    lost: u64,
}

/// Runs tasks until stopped or, with --burst, until none is waiting.
pub(super) async fn run(
    arguments: Arguments,
    session: &mut Session,
    launch: Launch,
) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let (runner, stop) = arguments.runner.open(session, launch)?;
    let mut worker = TaskWorker::start(&worqr, arguments.queue, runner).await?;
    let worked = until_signal(session, stop, Box::pin(worker.work())).await;
    // Also after an error, to return the task that it has.
    let left = worker.worker.leave().await;
    let summary = worked?;
    left?;
    let Summary {
        finished,
        cancelled,
        failed,
        lost,
    } = summary;
    let line = format!("{finished} finished, {cancelled} cancelled, {failed} failed, {lost} lost");
    print::value(session, &summary, line)
}

impl TaskWorker {
    async fn start(worqr: &Worqr, queue: String, runner: Runner) -> Result<Self> {
        // Before the first task, to miss no cancellation.
        let listener = worqr.listen(&[&queue]).await?;
        let worker = worqr.join(WorkerOptions::default()).await?;
        worker.start_work(&queue).await?;
        Ok(Self {
            worker,
            listener,
            queue,
            runner,
        })
    }

    async fn work(&mut self) -> Result<Summary> {
        let mut summary = Summary::default();
        let mut needs_restart = false;
        while !self.runner.is_stopped() {
            let next = if needs_restart || self.worker.state() == WorkerState::Failed {
                self.restart().await.map(|()| None)
            } else {
                self.next_task().await
            };
            needs_restart = false;
            match next {
                Ok(Some(process)) => self.run_task(&process, &mut summary).await,
                Ok(None) if self.runner.is_burst => break,
                Ok(None) => {}
                // The timer ran out, and no heartbeat has noticed yet.
                Err(error) if error.kind() == ErrorKind::Conflict => needs_restart = true,
                Err(error) if error.is_transient() || error.is_unknown() => {
                    // A task may have been started without a reply.
                    needs_restart = true;
                    self.runner.log_and_wait(&error).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(summary)
    }

    /// Restarts the worker, which returns its tasks to the queue.
    async fn restart(&mut self) -> windlass::Result<()> {
        self.worker.restart().await?;
        self.worker.start_work(&self.queue).await.map(drop)
    }

    /// Waits for a task. Reads events meanwhile: cancellations of earlier tasks.
    async fn next_task(&mut self) -> windlass::Result<Option<Process>> {
        let wait = if self.runner.is_burst {
            Duration::ZERO
        } else {
            TASK_WAIT
        };
        let starting = self.worker.start_task_within(&self.queue, wait);
        tokio::pin!(starting);
        loop {
            tokio::select! {
                biased;
                started = &mut starting => return started,
                _ = self.listener.next() => {}
            }
        }
    }

    async fn run_task(&mut self, process: &Process, summary: &mut Summary) {
        let variables = [
            ("WINDLASS_TASK_ID", process.id.as_str()),
            ("WINDLASS_QUEUE", self.queue.as_str()),
        ];
        let mut is_cancelled = false;
        let over = async {
            tokio::select! {
                () = self.worker.failed() => {}
                () = cancelled(&mut self.listener, &process.task) => is_cancelled = true,
            }
        };
        let running = self.runner.run(&variables, process.task.clone(), over);
        let ended = Box::pin(running).await;
        let count = match ended {
            _ if is_cancelled => {
                self.finish(process, None).await;
                &mut summary.cancelled
            }
            ProgramExit::Succeeded(output) => {
                match self.finish(process, result_of(&output)).await {
                    Some(ProcessEnd::Ended) => &mut summary.finished,
                    _ => &mut summary.lost,
                }
            }
            ProgramExit::Failed(why) => {
                let why = format!("task {} failed: {why}", process.id);
                self.runner.log(&why);
                if let Err(error) = self.worker.stop_task(&process.id).await {
                    self.runner.log(&error);
                }
                self.runner.pause().await;
                &mut summary.failed
            }
            ProgramExit::Stopped => &mut summary.lost,
        };
        *count += 1;
    }

    /// Finishes a task, with retries. Returns `None` if that is impossible.
    async fn finish(&self, process: &Process, result: Option<Value>) -> Option<ProcessEnd> {
        let (worker, id, result) = (&self.worker, &process.id, &result);
        let finish = || async move {
            match result {
                Some(result) => worker.finish_task_with(id, result).await,
                None => worker.finish_task(id).await,
            }
        };
        let is_alive = || worker.state() == WorkerState::Alive;
        match self.runner.report(finish, is_alive).await? {
            // The reply to the first call was lost.
            (ProcessEnd::Gone, true) => Some(ProcessEnd::Ended),
            (end, _) => Some(end),
        }
    }
}

/// Waits until this task is cancelled.
async fn cancelled(listener: &mut WorqrListener, task: &Bytes) {
    loop {
        if let WorqrEvent::Cancel {
            task: cancelled, ..
        } = listener.next().await
            && cancelled == *task
        {
            return;
        }
    }
}

/// Returns the result of a task: JSON, or else a string. No result if the program printed nothing.
fn result_of(output: &Bytes) -> Option<Value> {
    let text = String::from_utf8_lossy(output);
    let text = text.trim_end();
    if text.is_empty() {
        return None;
    }
    Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)))
}
