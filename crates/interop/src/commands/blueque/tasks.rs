//! Enqueues, schedules and deletes tasks.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::duration;
use windlass::store::{Clock, SystemClock};
use windlass_api::timestamp;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

/// Arguments of `enqueue`.
#[derive(Debug, Args)]
pub(crate) struct Enqueue {
    /// Queue name
    queue: String,

    /// Parameters; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    parameters: OsString,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `schedule`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Schedule {
    /// Queue name
    queue: String,

    /// Parameters; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    parameters: OsString,

    /// Due time: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    at: Option<String>,

    /// Delay from now
    #[arg(long, value_name = "D", group = "when", allow_hyphen_values = true)]
    delay: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `due`.
#[derive(Debug, Args)]
pub(crate) struct Due {
    /// Queue name
    queue: String,

    /// Run until stopped, with this interval between checks
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `delete`.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Queue name
    queue: String,

    /// Task id; the task must be finished
    id: String,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct AddedReply<'a> {
    id: String,
    queue: &'a str,
    status: String,
}

#[derive(Debug, Serialize)]
struct MovedReply {
    moved: u64,
}

#[derive(Debug, Serialize)]
struct DeletedReply<'a> {
    id: &'a str,
    deleted: bool,
}

/// Enqueues a task.
pub(crate) async fn enqueue(arguments: Enqueue, session: &mut Session) -> Result<Exit> {
    let parameters = bytes_or_stdin(arguments.parameters)?;
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let id = queue.enqueue(parameters).await?;
    print_added(session, &arguments.queue, id, "pending".to_owned());
    Ok(Exit::Ok)
}

/// Schedules a task.
pub(crate) async fn schedule(arguments: Schedule, session: &mut Session) -> Result<Exit> {
    let eta = match (&arguments.at, &arguments.delay) {
        (Some(at), _) => Duration::from_millis(timestamp::parse(at)?.as_ms()),
        (None, delay) => {
            let delay = duration::parse(delay.as_deref().unwrap_or("0s"))?;
            Duration::from_micros(SystemClock.now_us()) + delay
        }
    };
    let parameters = bytes_or_stdin(arguments.parameters)?;
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let (id, status) = queue.schedule(parameters, eta.as_secs_f64()).await?;
    print_added(session, &arguments.queue, id, status);
    Ok(Exit::Ok)
}

fn print_added(session: &mut Session, queue: &str, id: String, status: String) {
    let reply = AddedReply { id, queue, status };
    session
        .output
        .result(&reply, |output| output.line(&reply.id));
}

/// Moves due tasks, once or periodically.
pub(crate) async fn due(arguments: Due, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = MovedReply { moved: 0 };
    let work = || queue.enqueue_due_tasks();
    let output = &mut session.output;
    rounds
        .each(output, work, |done| reply.moved += done)
        .await?;
    session.output.result(&reply, |output| {
        output.line(&format!("{} tasks moved to the queue", reply.moved));
    });
    Ok(Exit::Ok)
}

/// Deletes a task.
pub(crate) async fn delete(arguments: Delete, session: &mut Session) -> Result<Exit> {
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    queue.delete_task(&arguments.id).await?;
    let reply = DeletedReply {
        id: &arguments.id,
        deleted: true,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} deleted", reply.id));
    });
    Ok(Exit::Ok)
}
