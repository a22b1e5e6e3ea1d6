//! Enqueues and cancels tasks.

use std::ffi::OsString;

use crate::worqr::UniqueEnqueued;
use clap::Args;
use serde::Serialize;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

/// Arguments of `enqueue`.
#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// Queue name
    queue: String,

    /// Tasks, in order; `-` reads one from stdin. Put `--` before a task that starts with a hyphen
    #[arg(required = true)]
    task: Vec<OsString>,

    /// Only if the same task is neither waiting nor in progress, in any queue
    #[arg(long)]
    unique: bool,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// Queue name
    queue: String,

    /// Task; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    task: OsString,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct EnqueueReply<'a> {
    queue: &'a str,
    enqueued: u64,
    duplicate: bool,
}

#[derive(Debug, Serialize)]
struct CancelReply<'a> {
    queue: &'a str,
    cancelled: u64,
}

/// Enqueues tasks.
pub(crate) async fn enqueue(arguments: Enqueue, session: &mut Session) -> Result<Exit> {
    if arguments.unique && arguments.task.len() > 1 {
        return Err(windlass_terminal::exit::CliError::usage(
            "--unique accepts only one task",
            "enqueue unique tasks one by one",
        ));
    }
    let tasks = arguments.task.into_iter().map(bytes_or_stdin);
    let mut tasks: Vec<windlass::Bytes> = tasks.collect::<Result<_>>()?;
    let queue = &arguments.queue;
    let worqr = arguments.target.open(session).await?;
    let (enqueued, duplicate) = match tasks.pop() {
        Some(task) if arguments.unique => match worqr.enqueue_unique(queue, task).await? {
            UniqueEnqueued::Added => (1, false),
            UniqueEnqueued::Duplicate => (0, true),
        },
        last => {
            tasks.extend(last);
            (worqr.enqueue_many(queue, tasks).await?, false)
        }
    };
    let reply = EnqueueReply {
        queue,
        enqueued,
        duplicate,
    };
    session.output.result(&reply, |output| {
        if duplicate {
            output.line("the same task is already waiting or in progress");
        } else {
            output.line(&format!("{enqueued} tasks enqueued"));
        }
    });
    Ok(Exit::Ok)
}

/// Cancels a task.
pub(crate) async fn cancel(arguments: Cancel, session: &mut Session) -> Result<Exit> {
    let task = bytes_or_stdin(arguments.task)?;
    let worqr = arguments.target.open(session).await?;
    let reply = CancelReply {
        queue: &arguments.queue,
        cancelled: worqr.cancel_tasks(&arguments.queue, task).await?,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} copies removed", reply.cancelled));
    });
    Ok(Exit::Ok)
}
