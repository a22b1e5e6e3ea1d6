//! Runs a program for each task, one at a time: parameters on stdin, stdout is the result.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::duration;
use windlass::{Bytes, ErrorKind};
use windlass_exec::{Launch, ProgramExit};
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::Target;
use super::clean::CleanArguments;
use crate::blueque::{
    Blueque, BluequeListener, BluequeProcessor, BluequeQueue, CleanOptions, ListenerHeartbeat,
    ListenerOptions, Task,
};
use crate::commands::print;
use crate::commands::runner::{Runner, RunnerArguments, until_signal};

/// How long one call waits for a task.
const LISTEN: Duration = Duration::from_secs(5);

/// Interval between checks for due tasks.
const DUE_EVERY: Duration = Duration::from_secs(1);

/// Interval between cleans.
const CLEAN_EVERY: Duration = Duration::from_secs(15);

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "If CMD exits with status 0, the task is complete and its stdout is the result. Otherwise the task fails \
    with the last lines of stderr. CMD gets the variables WINDLASS_TASK_ID and WINDLASS_QUEUE. It is killed when this \
    process ends; an interrupted task fails with worker_lost, or returns to the front with --retry-lost.\n\n\
    While it runs, this command also moves due tasks and cleans up after dead listeners.\n\n\
    Example:\n  windlass interop blueque run videos -- ./convert --fast"
)]
#[command(mut_arg("burst", |arg| arg.help("Exit when no task is pending")))]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// How long the listener stays alive without a heartbeat; heartbeats are sent automatically [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    alive: Option<Duration>,

    #[command(flatten)]
    runner: RunnerArguments,

    #[command(flatten)]
    clean: CleanArguments,

    #[command(flatten)]
    target: Target,
}

/// Takes tasks and runs the program for each.
struct TaskRunner {
    blueque: Blueque,
    queue: BluequeQueue,
    options: ListenerOptions,
    clean: CleanOptions,
    runner: Runner,
}

/// Number of tasks by outcome.
#[derive(Debug, Default, Serialize)]
struct Summary {
    complete: u64,
    failed: u64,
    lost: u64,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskOutcome {
    Complete,
    Failed,
    /// Interrupted, or held by another listener by now.
    Lost,
}

/// Runs tasks until stopped or, with --burst, until none is pending.
pub(super) async fn run(
    arguments: Arguments,
    session: &mut Session,
    launch: Launch,
) -> Result<Exit> {
    let mut options = ListenerOptions::default();
    options.alive = arguments.alive.unwrap_or(options.alive);
    let clean = arguments.clean.options();
    let (runner, stop) = arguments.runner.open(session, launch)?;
    let blueque = arguments.target.open(session).await?;
    let worker = TaskRunner {
        queue: blueque.queue(&arguments.queue)?,
        blueque,
        options,
        clean,
        runner,
    };
    let summary = until_signal(session, stop, Box::pin(worker.work())).await?;
    let Summary {
        complete,
        failed,
        lost,
    } = summary;
    let line = format!("{complete} complete, {failed} failed, {lost} lost");
    print::value(session, &summary, line)
}

impl TaskRunner {
    /// Works as one listener after another: a listener that was declared lost is replaced.
    async fn work(&self) -> Result<Summary> {
        let due = self.queue.clone();
        let _due = self.runner.repeat(DUE_EVERY, move || {
            let queue = due.clone();
            async move { queue.enqueue_due_tasks().await.map(drop) }
        });
        let cleaned = (self.queue.clone(), self.clean.clone());
        let _clean = self.runner.repeat(CLEAN_EVERY, move || {
            let (queue, options) = cleaned.clone();
            async move { queue.clean(&options).await.map(drop) }
        });
        let mut summary = Summary::default();
        loop {
            let listener = match self.queue.join(self.options.clone()).await {
                Err(error) if error.is_transient() && !self.runner.is_stopped() => {
                    self.runner.log_and_wait(&error).await;
                    continue;
                }
                joined => joined?,
            };
            let is_done = self.listen(listener, &mut summary).await?;
            if is_done {
                return Ok(summary);
            }
        }
    }

    /// Works as one listener. Returns true if the runner is done.
    async fn listen(&self, mut listener: BluequeListener, summary: &mut Summary) -> Result<bool> {
        let mut heartbeat = listener.start_heartbeat();
        let is_burst = self.runner.is_burst;
        let wait = if is_burst { Duration::ZERO } else { LISTEN };
        let is_done = loop {
            let found = tokio::select! {
                biased;
                () = self.runner.stop_requested() => break true,
                found = listener.listen(wait) => found,
            };
            match found {
                Ok(Some(task)) => match self.run_task(&task, &mut heartbeat).await {
                    TaskOutcome::Complete => summary.complete += 1,
                    TaskOutcome::Failed => summary.failed += 1,
                    TaskOutcome::Lost => {
                        summary.lost += 1;
                        break self.runner.is_stopped();
                    }
                },
                Ok(None) if is_burst => break true,
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    self.runner.log(&error);
                    break false;
                }
                Err(error) if error.is_transient() => self.runner.log_and_wait(&error).await,
                Err(error) => return Err(error.into()),
            }
        };
        drop(heartbeat);
        self.leave(listener).await;
        Ok(is_done)
    }

    /// Unregisters the listener. If it still holds a task, cleans up as after a dead listener.
    async fn leave(&self, listener: BluequeListener) {
        let name = listener.name().to_owned();
        let left = match listener.leave().await {
            Ok(false) => {
                let mut options = self.clean.clone();
                options.lost.push(name);
                self.queue.clean(&options).await.map(|_| ())
            }
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = left {
            let why = format!("could not return the task now, a later clean will: {error}");
            self.runner.log(&why);
        }
    }

    /// Runs one task and reports its outcome.
    async fn run_task(&self, task: &Task, heartbeat: &mut ListenerHeartbeat) -> TaskOutcome {
        let Ok(mut processor) = self.blueque.processor(task) else {
            return TaskOutcome::Lost;
        };
        // Before the program starts, so that it does not run a task that another listener may hold.
        if let Err(error) = processor.start(std::process::id()).await {
            self.runner.log(&error);
            return TaskOutcome::Lost;
        }
        let variables = [
            ("WINDLASS_TASK_ID", task.id.as_str()),
            ("WINDLASS_QUEUE", task.queue.as_deref().unwrap_or_default()),
        ];
        let input = task.parameters.clone().unwrap_or_default();
        let program = match self.runner.start(&variables, input).await {
            Ok(program) => program,
            Err(error) => return self.finish(&mut processor, heartbeat, Err(error)).await,
        };
        // Records the program's pid for operators; the task is already started.
        if let Err(error) = processor.start(program.id()).await {
            self.runner.log(&error);
            if error.kind() == ErrorKind::Conflict {
                return TaskOutcome::Lost;
            }
        }
        let result = match self.runner.wait(program, heartbeat.lost()).await {
            ProgramExit::Succeeded(output) => Ok(output),
            ProgramExit::Failed(why) => Err(why),
            ProgramExit::Stopped => return TaskOutcome::Lost,
        };
        self.finish(&mut processor, heartbeat, result).await
    }

    /// Reports the outcome, retrying until it succeeds or the task is lost.
    async fn finish(
        &self,
        processor: &mut BluequeProcessor,
        heartbeat: &mut ListenerHeartbeat,
        result: Result<Bytes, String>,
    ) -> TaskOutcome {
        loop {
            let (outcome, reported) = match result.clone() {
                Ok(output) => (TaskOutcome::Complete, processor.complete(output).await),
                Err(error) => (TaskOutcome::Failed, processor.fail(error).await),
            };
            match reported {
                Ok(()) => return outcome,
                Err(error) if error.is_transient() => {
                    tokio::select! {
                        () = heartbeat.lost() => return TaskOutcome::Lost,
                        () = self.runner.log_and_wait(&error) => {}
                    }
                    if self.runner.is_stopped() {
                        return TaskOutcome::Lost;
                    }
                }
                Err(error) => {
                    self.runner.log(&error);
                    return TaskOutcome::Lost;
                }
            }
        }
    }
}
