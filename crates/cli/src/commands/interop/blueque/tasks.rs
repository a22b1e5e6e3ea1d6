//! Tasks come in, now or later, and are removed.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::duration;
use windlass::store::{Clock, SystemClock};
use windlass_api::timestamp;

use super::place::Place;
use crate::commands::repeat::{self, Repeat};
use crate::exit::{Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// The queue
    queue: String,

    /// What the task is about; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    parameters: OsString,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Schedule {
    /// The queue
    queue: String,

    /// What the task is about; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    parameters: OsString,

    /// When it is due: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    at: Option<String>,

    /// How long from now
    #[arg(long, value_name = "D", group = "when", allow_hyphen_values = true)]
    delay: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Due {
    /// The queue
    queue: String,

    /// Go on until told to stop, with this long between two looks
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The queue
    queue: String,

    /// The task, which must be finished
    id: String,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct Added<'a> {
    id: String,
    queue: &'a str,
    status: String,
}

#[derive(Debug, Serialize)]
struct Moved {
    moved: u64,
}

#[derive(Debug, Serialize)]
struct Deleted<'a> {
    id: &'a str,
    deleted: bool,
}

/// Enqueues.
pub(crate) async fn enqueue(arguments: Enqueue, session: &mut Session) -> Result<Exit> {
    let parameters = bytes_or_stdin(arguments.parameters)?;
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let id = queue.enqueue(parameters).await?;
    added(session, &arguments.queue, id, "pending".to_owned());
    Ok(Exit::Ok)
}

/// Schedules.
pub(crate) async fn schedule(arguments: Schedule, session: &mut Session) -> Result<Exit> {
    let eta = match (&arguments.at, &arguments.delay) {
        (Some(at), _) => Duration::from_millis(timestamp::parse(at)?.as_ms()),
        (None, delay) => {
            let delay = duration::parse(delay.as_deref().unwrap_or("0s"))?;
            Duration::from_micros(SystemClock.now_us()) + delay
        }
    };
    let parameters = bytes_or_stdin(arguments.parameters)?;
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let (id, status) = queue.schedule(parameters, eta.as_secs_f64()).await?;
    added(session, &arguments.queue, id, status);
    Ok(Exit::Ok)
}

fn added(session: &mut Session, queue: &str, id: String, status: String) {
    let reply = Added { id, queue, status };
    session
        .output
        .result(&reply, |output| output.line(&reply.id));
}

/// Moves what is due, once or again and again.
pub(crate) async fn due(arguments: Due, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = Moved { moved: 0 };
    let work = || queue.enqueue_due_tasks();
    let output = &mut session.output;
    rounds
        .each(output, work, |done| reply.moved += done)
        .await?;
    session.output.result(&reply, |output| {
        output.line(&format!("{} tasks are pending now", reply.moved));
    });
    Ok(Exit::Ok)
}

/// Deletes.
pub(crate) async fn delete(arguments: Delete, session: &mut Session) -> Result<Exit> {
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    queue.delete_task(&arguments.id).await?;
    let reply = Deleted {
        id: &arguments.id,
        deleted: true,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} is deleted", reply.id));
    });
    Ok(Exit::Ok)
}
