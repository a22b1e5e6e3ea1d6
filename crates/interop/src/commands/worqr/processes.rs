//! Starts, stops, finishes and lists processes.

use crate::worqr::ProcessEnd;
use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use std::ffi::OsString;
use windlass::{Error, ErrorKind};

use super::reply::ProcessReply;
use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Arguments of `start-task`.
#[derive(Debug, Args)]
#[command(
    after_help = "If the queue is empty, prints null with --json and exits with 0. Exit code 4: the worker \
    does not serve the queue, or its timer ran out."
)]
pub(crate) struct StartTask {
    /// Queue name
    queue: String,

    /// Id of the worker that takes the task
    #[arg(long, value_name = "ID")]
    worker: String,

    /// How long to wait if no task is available [default: do not wait]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `stop-task`.
#[derive(Debug, Args)]
pub(crate) struct StopTask {
    #[command(flatten)]
    process: ProcessArguments,
}

/// Arguments of `finish-task`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 4: the task was returned to the queue, or has already ended.")]
pub(crate) struct FinishTask {
    #[command(flatten)]
    process: ProcessArguments,

    /// Result as JSON; `-` reads stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// The process and its worker.
#[derive(Debug, Args)]
struct ProcessArguments {
    /// Process id from start-task
    process: String,

    /// Id of the worker that took the task
    #[arg(long, value_name = "ID")]
    worker: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `processes`.
#[derive(Debug, Args)]
pub(crate) struct Processes {
    /// Only processes that run this task; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    task: Option<OsString>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct StopReply<'a> {
    id: &'a str,
    stopped: bool,
}

#[derive(Debug, Serialize)]
struct FinishReply<'a> {
    id: &'a str,
    finished: bool,
}

#[derive(Debug, Serialize)]
struct MatchingProcess {
    id: String,
}

/// Takes the next task.
pub(crate) async fn start(arguments: StartTask, session: &mut Session) -> Result<Exit> {
    let (worker, queue) = (&arguments.worker, &arguments.queue);
    let wait = parse::duration(arguments.wait.as_deref())?;
    let worqr = arguments.target.open(session).await?;
    let mut process = worqr.start_task(worker, queue).await?;
    if let (None, Some(wait)) = (&process, wait) {
        process = worqr.start_task_within(worker, queue, wait).await?;
    }
    let reply = process.map(ProcessReply::new);
    session.output.result(&reply, |output| match &reply {
        Some(reply) => output.fields(vec![
            ("id", Some(reply.id.clone())),
            ("task", Some(reply.task.shown().to_owned())),
        ]),
        None => output.note("no task available"),
    });
    Ok(Exit::Ok)
}

/// Returns a task to the queue.
pub(crate) async fn stop(arguments: StopTask, session: &mut Session) -> Result<Exit> {
    let ProcessArguments {
        process,
        worker,
        target,
    } = &arguments.process;
    let worqr = target.open(session).await?;
    check(worqr.stop_task(worker, process).await?, process)?;
    let reply = StopReply {
        id: process,
        stopped: true,
    };
    session.output.result(&reply, |output| {
        output.line("task returned to the front of its queue");
    });
    Ok(Exit::Ok)
}

/// Finishes a task.
pub(crate) async fn finish(arguments: FinishTask, session: &mut Session) -> Result<Exit> {
    let ProcessArguments {
        process,
        worker,
        target,
    } = &arguments.process;
    let result = arguments.result.map(json).transpose()?;
    let worqr = target.open(session).await?;
    let ended = match result {
        Some(result) => worqr.finish_task_with(worker, process, &result).await?,
        None => worqr.finish_task(worker, process).await?,
    };
    check(ended, process)?;
    let reply = FinishReply {
        id: process,
        finished: true,
    };
    session
        .output
        .result(&reply, |output| output.line("finished"));
    Ok(Exit::Ok)
}

/// Lists the processes in progress.
pub(crate) async fn list(arguments: Processes, session: &mut Session) -> Result<Exit> {
    let task = arguments.task.map(bytes_or_stdin).transpose()?;
    let worqr = arguments.target.open(session).await?;
    if let Some(task) = task {
        let found = worqr.matching_processes(task).await?;
        let reply: Vec<_> = found.into_iter().map(|id| MatchingProcess { id }).collect();
        session.output.result(&reply, |output| {
            for one in &reply {
                output.line(&one.id);
            }
        });
        return Ok(Exit::Ok);
    }
    let found = worqr.processes().await?;
    let reply: Vec<_> = found.into_iter().map(ProcessReply::new).collect();
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no processes in progress");
        }
        let row = |one: &ProcessReply| vec![one.id.clone(), one.task.shown().to_owned()];
        output.table(&["id", "task"], reply.iter().map(row).collect());
    });
    Ok(Exit::Ok)
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
