//! Starts, completes and fails tasks.

use std::ffi::OsString;

use crate::blueque::{BluequeProcessor, Task};
use clap::Args;
use serde::Serialize;
use windlass::{Bytes, Error, ErrorKind};

use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

/// The task and its listener.
#[derive(Debug, Args)]
struct TaskArguments {
    /// Queue name
    queue: String,

    /// Task id
    id: String,

    /// Listener that took the task; fails if another one holds it by now
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `start`.
#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    task: TaskArguments,

    /// Pid of the process that runs the task [default: the parent process]
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
}

/// Arguments of `complete`.
#[derive(Debug, Args)]
#[command(after_help = "A task can be completed once. A second call fails with exit code 4.")]
pub(crate) struct Complete {
    #[command(flatten)]
    task: TaskArguments,

    /// Result; `-` reads stdin [default: empty]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// Arguments of `fail`.
#[derive(Debug, Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    task: TaskArguments,

    /// Error text; `-` reads stdin
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    error: OsString,
}

#[derive(Debug, Serialize)]
struct StatusReply<'a> {
    id: &'a str,
    status: String,
}

impl TaskArguments {
    async fn find(&self, session: &Session) -> Result<(Task, BluequeProcessor)> {
        let blueque = self.target.open(session).await?;
        let task = blueque.get_task(&self.id).await?;
        let mut task = task.ok_or_else(|| super::show::no_task(&self.id))?;
        if task
            .queue
            .as_ref()
            .is_some_and(|queue| *queue != self.queue)
        {
            return Err(conflict(format!(
                "task {} does not belong to queue {}",
                self.id, self.queue
            )));
        }
        task.queue = Some(self.queue.clone());
        if let Some(listener) = &self.listener
            && task.node.as_ref() != Some(listener)
        {
            return Err(conflict(format!(
                "task {} is not held by {listener}",
                self.id
            )));
        }
        let processor = blueque.processor(&task)?;
        Ok((task, processor))
    }

    async fn print_status(&self, session: &mut Session) -> Result<Exit> {
        let blueque = self.target.open(session).await?;
        let task = blueque.get_task(&self.id).await?;
        let reply = StatusReply {
            id: &self.id,
            status: task.map_or_else(String::new, |task| task.status),
        };
        session.output.result(&reply, |output| {
            output.line(&format!("{} is {}", reply.id, reply.status));
        });
        Ok(Exit::Ok)
    }
}

fn conflict(message: String) -> CliError {
    Error::new(
        ErrorKind::Conflict,
        message,
        "show the task with `windlass interop blueque get ID`",
    )
    .into()
}

/// Starts a task.
pub(crate) async fn start(arguments: Start, session: &mut Session) -> Result<Exit> {
    let (_, mut processor) = arguments.task.find(session).await?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_pid().unsigned_abs());
    let pid = arguments.pid.or(parent).unwrap_or_else(std::process::id);
    processor.start(pid).await?;
    arguments.task.print_status(session).await
}

/// Completes a task.
pub(crate) async fn complete(arguments: Complete, session: &mut Session) -> Result<Exit> {
    let result = arguments.result.map(bytes_or_stdin).transpose()?;
    let (_, mut processor) = arguments.task.find(session).await?;
    processor
        .complete(result.unwrap_or_else(Bytes::new))
        .await?;
    arguments.task.print_status(session).await
}

/// Fails a task.
pub(crate) async fn fail(arguments: Fail, session: &mut Session) -> Result<Exit> {
    let error = bytes_or_stdin(arguments.error)?;
    let (_, mut processor) = arguments.task.find(session).await?;
    processor.fail(error).await?;
    arguments.task.print_status(session).await
}
