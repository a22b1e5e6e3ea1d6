//! Tasks come in, and are cancelled.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use windlass_interop::worqr::Enqueued;

use super::place::Place;
use crate::exit::{Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// The queue
    queue: String,

    /// The tasks, in their order; `-` reads one from standard input, and one that begins with a
    /// hyphen has `--` before it
    #[arg(required = true)]
    task: Vec<OsString>,

    /// Only if the same task neither waits nor is in progress, in any queue
    #[arg(long)]
    unique: bool,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The queue
    queue: String,

    /// The task; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    task: OsString,

    #[command(flatten)]
    place: Place,
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

/// Enqueues.
pub(crate) async fn enqueue(arguments: Enqueue, session: &mut Session) -> Result<Exit> {
    if arguments.unique && arguments.task.len() > 1 {
        return Err(crate::exit::CliError::usage(
            "--unique takes one task: its clients know no several ones that are unique together",
            "enqueue them one by one",
        ));
    }
    let tasks = arguments.task.into_iter().map(bytes_or_stdin);
    let mut tasks: Vec<windlass::Bytes> = tasks.collect::<Result<_>>()?;
    let queue = &arguments.queue;
    let worqr = arguments.place.open(session).await?;
    let (enqueued, duplicate) = match tasks.pop() {
        Some(task) if arguments.unique => match worqr.enqueue_unique(queue, task).await? {
            Enqueued::Added => (1, false),
            Enqueued::Duplicate => (0, true),
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
            output.line("the same task is there already");
        } else {
            output.line(&format!("{enqueued} tasks enqueued"));
        }
    });
    Ok(Exit::Ok)
}

/// Cancels.
pub(crate) async fn cancel(arguments: Cancel, session: &mut Session) -> Result<Exit> {
    let task = bytes_or_stdin(arguments.task)?;
    let worqr = arguments.place.open(session).await?;
    let reply = CancelReply {
        queue: &arguments.queue,
        cancelled: worqr.cancel_tasks(&arguments.queue, task).await?,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} copies of it taken out", reply.cancelled));
    });
    Ok(Exit::Ok)
}
