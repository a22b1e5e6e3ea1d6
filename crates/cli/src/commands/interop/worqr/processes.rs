//! Tasks are started and ended.

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use std::ffi::OsString;
use windlass::{Error, ErrorKind};
use windlass_interop::worqr::Ended;

use super::place::Place;
use super::reply::ProcessReply;
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::parse;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing to take: null with --json, exit 0. Exit 4: the worker does not \
    serve the queue, or its timer ran out."
)]
pub(crate) struct StartTask {
    /// The queue
    queue: String,

    /// The worker that takes it
    #[arg(long, value_name = "ID")]
    worker: String,

    /// How long to wait for a task where there is none
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct StopTask {
    #[command(flatten)]
    held: Held,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit 4: the task went back into the queue before, or was ended.")]
pub(crate) struct FinishTask {
    #[command(flatten)]
    held: Held,

    /// What the task leaves behind, as JSON; `-` reads standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// Which process, and whose.
#[derive(Debug, Args)]
struct Held {
    /// The id that start-task gave
    process: String,

    /// The worker that took it
    #[arg(long, value_name = "ID")]
    worker: String,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Processes {
    /// Only those that are at this task; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    task: Option<OsString>,

    #[command(flatten)]
    place: Place,
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
struct Matching {
    id: String,
}

/// Takes the next task.
pub(crate) async fn start(arguments: StartTask, session: &mut Session) -> Result<Exit> {
    let (worker, queue) = (&arguments.worker, &arguments.queue);
    let wait = parse::duration(arguments.wait.as_deref())?;
    let worqr = arguments.place.open(session).await?;
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
        None => output.note("no task waits"),
    });
    Ok(Exit::Ok)
}

/// Puts a task back.
pub(crate) async fn stop(arguments: StopTask, session: &mut Session) -> Result<Exit> {
    let Held {
        process,
        worker,
        place,
    } = &arguments.held;
    let worqr = place.open(session).await?;
    check(worqr.stop_task(worker, process).await?, process)?;
    let reply = StopReply {
        id: process,
        stopped: true,
    };
    session.output.result(&reply, |output| {
        output.line("the task is at the front of its queue");
    });
    Ok(Exit::Ok)
}

/// Ends a task.
pub(crate) async fn finish(arguments: FinishTask, session: &mut Session) -> Result<Exit> {
    let Held {
        process,
        worker,
        place,
    } = &arguments.held;
    let result = arguments.result.map(json).transpose()?;
    let worqr = place.open(session).await?;
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

/// What is in progress.
pub(crate) async fn list(arguments: Processes, session: &mut Session) -> Result<Exit> {
    let task = arguments.task.map(bytes_or_stdin).transpose()?;
    let worqr = arguments.place.open(session).await?;
    if let Some(task) = task {
        let found = worqr.matching_processes(task).await?;
        let reply: Vec<_> = found.into_iter().map(|id| Matching { id }).collect();
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
            output.note("nothing is in progress");
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
            format!("--result is not JSON: {error}"),
            "a text has to be quoted: --result '\"sent\"'",
        )
    })
}

fn check(ended: Ended, process: &str) -> Result<()> {
    match ended {
        Ended::Ended => Ok(()),
        Ended::Gone => Err(Error::new(
            ErrorKind::Conflict,
            format!("{process} is not in progress: its task went back or was ended before"),
            "drop what was done, or see who is at it with `windlass interop worqr processes TASK`",
        )
        .into()),
    }
}
