//! Starts, stops, finishes and lists processes.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::value::RawValue;
use windlass::duration;
use windlass::{Error, ErrorKind};
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

use super::{Target, task};
use crate::commands::print::{self, Object, shown};
use crate::worqr::{Process, ProcessEnd};

/// Commands about tasks in progress.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take the next task
    #[command(
        after_help = "If the queue is empty, prints null with --json and exits with 0. Exit code 4: the worker \
        does not serve the queue, or its timer ran out."
    )]
    StartTask {
        /// Queue name
        queue: String,

        /// Id of the worker that takes the task
        #[arg(long, value_name = "ID")]
        worker: String,

        /// How long to wait if no task is available [default: do not wait]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        wait: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
    /// Return a task to the front of its queue
    StopTask(ProcessArguments),
    /// Finish a task
    #[command(
        after_help = "Exit code 4: the task was returned to the queue, or has already ended."
    )]
    FinishTask {
        #[command(flatten)]
        process: ProcessArguments,

        /// Result as JSON; `-` reads stdin
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        result: Option<OsString>,
    },
    /// List the processes in progress
    Processes {
        /// Only processes that run this task; `-` reads stdin
        #[arg(allow_hyphen_values = true)]
        task: Option<OsString>,

        #[command(flatten)]
        target: Target,
    },
}

/// The process and its worker.
#[derive(Debug, Args)]
pub(crate) struct ProcessArguments {
    /// Process id from start-task
    process: String,

    /// Id of the worker that took the task
    #[arg(long, value_name = "ID")]
    worker: String,

    #[command(flatten)]
    target: Target,
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::StartTask {
                queue,
                worker,
                wait,
                target,
            } => {
                let worqr = target.open(session).await?;
                let mut process = worqr.start_task(&worker, &queue).await?;
                if let (None, Some(wait)) = (&process, wait) {
                    process = worqr.start_task_within(&worker, &queue, wait).await?;
                }
                let reply = process.map(object);
                session.output.result(&reply, |output| match &reply {
                    Some(reply) => {
                        let [id, task] = [0, 1].map(|at| Some(shown(&reply.0[at])));
                        output.fields(vec![("id", id), ("task", task)]);
                    }
                    None => output.note("no task available"),
                });
                Ok(Exit::Ok)
            }
            Self::StopTask(ProcessArguments {
                process,
                worker,
                target,
            }) => {
                let worqr = target.open(session).await?;
                check(worqr.stop_task(&worker, &process).await?, &process)?;
                let fields = [("id", process.into()), ("stopped", true.into())];
                print::reply(session, fields, "task returned to the front of its queue")
            }
            Self::FinishTask { process, result } => {
                let ProcessArguments {
                    process,
                    worker,
                    target,
                } = process;
                let result = result.map(json).transpose()?;
                let worqr = target.open(session).await?;
                let ended = match result {
                    Some(result) => worqr.finish_task_with(&worker, &process, &result).await?,
                    None => worqr.finish_task(&worker, &process).await?,
                };
                check(ended, &process)?;
                let fields = [("id", process.into()), ("finished", true.into())];
                print::reply(session, fields, "finished")
            }
            Self::Processes { task, target } => list(task, target, session).await,
        }
    }
}

/// Returns a process as an object.
fn object(process: Process) -> Object {
    Object(vec![("id", process.id.into()), task(&process.task)])
}

/// Lists the processes in progress.
async fn list(task: Option<OsString>, target: Target, session: &mut Session) -> Result<Exit> {
    let task = task.map(bytes_or_stdin).transpose()?;
    let worqr = target.open(session).await?;
    if let Some(task) = task {
        let found = worqr.matching_processes(task).await?.into_iter();
        let reply: Vec<_> = found.map(|id| Object(vec![("id", id.into())])).collect();
        session.output.result(&reply, |output| {
            for one in &reply {
                output.line(&shown(&one.0[0]));
            }
        });
        return Ok(Exit::Ok);
    }
    let reply: Vec<_> = worqr.processes().await?.into_iter().map(object).collect();
    let row = |one: &Object| one.0.iter().map(shown).collect();
    print::table(
        session,
        &reply,
        "no processes in progress",
        &["id", "task"],
        row,
    )
}

fn json(argument: OsString) -> Result<Box<RawValue>> {
    let bytes = bytes_or_stdin(argument)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        CliError::usage(
            format!("--result is not valid JSON: {error}"),
            "quote strings: --result '\"sent\"'",
        )
    })
}

fn check(ended: ProcessEnd, process: &str) -> Result<()> {
    match ended {
        ProcessEnd::Ended => Ok(()),
        ProcessEnd::Gone => Err(Error::new(
            ErrorKind::Conflict,
            format!("process {process} is not in progress: it has ended, or its task was returned"),
            "discard the result, or find the task with `windlass interop worqr processes TASK`",
        )
        .into()),
    }
}
