//! Starts, completes, fails and deletes tasks.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use windlass::{Error, ErrorKind};
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

use super::{Target, show};
use crate::blueque::BluequeProcessor;
use crate::commands::print;

/// Commands about one task.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Mark a task as started
    Start {
        #[command(flatten)]
        task: TaskArguments,

        /// Pid of the process that runs the task [default: the parent process]
        #[arg(long, value_name = "N")]
        pid: Option<u32>,
    },
    /// Complete a task
    #[command(after_help = "A task can be completed once. A second call fails with exit code 4.")]
    Complete {
        #[command(flatten)]
        task: TaskArguments,

        /// Result; `-` reads stdin [default: empty]
        #[arg(long, value_name = "R", allow_hyphen_values = true)]
        result: Option<OsString>,
    },
    /// Fail a task
    Fail {
        #[command(flatten)]
        task: TaskArguments,

        /// Error text; `-` reads stdin
        #[arg(long, value_name = "E", allow_hyphen_values = true)]
        error: OsString,
    },
    /// Delete a finished task
    Delete {
        /// Queue name
        queue: String,

        /// Task id; the task must be finished
        id: String,

        #[command(flatten)]
        target: Target,
    },
}

/// The task and its listener.
#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
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

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        let task = match self {
            Self::Start { task, pid } => {
                let parent = rustix::process::getppid().map(|pid| pid.as_raw_pid().unsigned_abs());
                let pid = pid.or(parent).unwrap_or_else(std::process::id);
                task.find(session).await?.start(pid).await?;
                task
            }
            Self::Complete { task, result } => {
                let result = result.map(bytes_or_stdin).transpose()?.unwrap_or_default();
                task.find(session).await?.complete(result).await?;
                task
            }
            Self::Fail { task, error } => {
                let error = bytes_or_stdin(error)?;
                task.find(session).await?.fail(error).await?;
                task
            }
            Self::Delete { queue, id, target } => {
                let queue = target.queue(&queue, session).await?;
                queue.delete_task(&id).await?;
                let line = format!("{id} deleted");
                let fields = [("id", id.into()), ("deleted", true.into())];
                return print::reply(session, fields, line);
            }
        };
        task.print_status(session).await
    }
}

impl TaskArguments {
    async fn find(&self, session: &Session) -> Result<BluequeProcessor> {
        let (id, queue) = (&self.id, &self.queue);
        let blueque = self.target.open(session).await?;
        let task = blueque.get_task(id).await?;
        let mut task = task.ok_or_else(|| show::no_task(id))?;
        if task.queue.as_ref().is_some_and(|known| known != queue) {
            return Err(conflict(format!(
                "task {id} does not belong to queue {queue}"
            )));
        }
        task.queue = Some(queue.clone());
        if let Some(listener) = &self.listener
            && task.node.as_ref() != Some(listener)
        {
            return Err(conflict(format!("task {id} is not held by {listener}")));
        }
        Ok(blueque.processor(&task)?)
    }

    async fn print_status(&self, session: &mut Session) -> Result<Exit> {
        let blueque = self.target.open(session).await?;
        let task = blueque.get_task(&self.id).await?;
        let status = task.map_or_else(String::new, |task| task.status);
        let line = format!("{} is {status}", self.id);
        let fields = [("id", self.id.as_str().into()), ("status", status.into())];
        print::reply(session, fields, line)
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
