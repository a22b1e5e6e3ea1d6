//! How a task goes: started, complete or failed.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use windlass::{Bytes, Error, ErrorKind};
use windlass_interop::blueque::{Processor, Task};

use super::place::Place;
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// Which task, and by whom.
#[derive(Debug, Args)]
struct Held {
    /// The queue
    queue: String,

    /// The task
    id: String,

    /// The listener that took it; refused when another one holds it by now
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    held: Held,

    /// The process that runs it [default: the one that calls this]
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "A task is completed once: the second time is a conflict, exit 4.")]
pub(crate) struct Complete {
    #[command(flatten)]
    held: Held,

    /// What the task leaves behind; `-` reads standard input [default: nothing]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    held: Held,

    /// Why; `-` reads standard input
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    error: OsString,
}

#[derive(Debug, Serialize)]
struct Settled<'a> {
    id: &'a str,
    status: String,
}

impl Held {
    async fn find(&self, session: &Session) -> Result<(Task, Processor)> {
        let blueque = self.place.open(session).await?;
        let task = blueque.get_task(&self.id).await?;
        let mut task = task.ok_or_else(|| super::show::no_task(&self.id))?;
        if task
            .queue
            .as_ref()
            .is_some_and(|queue| *queue != self.queue)
        {
            return Err(conflict(format!(
                "the task {} does not belong to the queue {}",
                self.id, self.queue
            )));
        }
        task.queue = Some(self.queue.clone());
        if let Some(listener) = &self.listener
            && task.node.as_ref() != Some(listener)
        {
            return Err(conflict(format!(
                "the task {} is not held by {listener}",
                self.id
            )));
        }
        let processor = blueque.processor(&task)?;
        Ok((task, processor))
    }

    async fn told(&self, session: &mut Session) -> Result<Exit> {
        let blueque = self.place.open(session).await?;
        let task = blueque.get_task(&self.id).await?;
        let reply = Settled {
            id: &self.id,
            status: task.map_or_else(String::new, |task| task.status),
        };
        session.output.result(&reply, |output| {
            output.line(&format!("{} is {}", reply.id, reply.status));
        });
        Ok(Exit::Ok)
    }
}

fn conflict(what: String) -> CliError {
    Error::new(
        ErrorKind::Conflict,
        what,
        "see how it stands with `windlass interop blueque get ID`",
    )
    .into()
}

/// Says which process runs it.
pub(crate) async fn start(arguments: Start, session: &mut Session) -> Result<Exit> {
    let (_, mut processor) = arguments.held.find(session).await?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_pid().unsigned_abs());
    let pid = arguments.pid.or(parent).unwrap_or_else(std::process::id);
    processor.start(pid).await?;
    arguments.held.told(session).await
}

/// Ends it well.
pub(crate) async fn complete(arguments: Complete, session: &mut Session) -> Result<Exit> {
    let result = arguments.result.map(bytes_or_stdin).transpose()?;
    let (_, mut processor) = arguments.held.find(session).await?;
    processor
        .complete(result.unwrap_or_else(Bytes::new))
        .await?;
    arguments.held.told(session).await
}

/// Ends it as failed.
pub(crate) async fn fail(arguments: Fail, session: &mut Session) -> Result<Exit> {
    let error = bytes_or_stdin(arguments.error)?;
    let (_, mut processor) = arguments.held.find(session).await?;
    processor.fail(error).await?;
    arguments.held.told(session).await
}
