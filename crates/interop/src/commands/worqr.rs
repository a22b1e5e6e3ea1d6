//! `windlass interop worqr`: one command per operation.

mod listen;
mod processes;
mod run;
mod tasks;
mod workers;

use clap::{Args, Subcommand};
use windlass_exec::Launch;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::print::{self, Field};
use super::server;
use crate::worqr::{Worqr, WorqrLayout, WorqrSettings};

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Tasks(tasks::Command),
    #[command(flatten)]
    Processes(processes::Command),
    #[command(flatten)]
    Workers(workers::Command),
    /// Print the events of queues
    Listen(listen::Arguments),
    /// Run a program for each task, and finish tasks that are cancelled
    Run(Box<run::Arguments>),
}

/// The flags that all commands have.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Key prefix [default: worqr; empty in the document layout]
    #[arg(long, value_name = "P")]
    prefix: Option<String>,

    /// Key layout: of the released library, or of the document before it
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: WorqrLayout,
}

impl Target {
    async fn open(self, session: &Session) -> Result<Worqr> {
        let settings = WorqrSettings::new(self.layout, self.prefix);
        Ok(Worqr::new(&server(session).await?, settings)?)
    }
}

/// A queue and its layout.
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// Queue name
    queue: String,

    #[command(flatten)]
    target: Target,
}

impl QueueArguments {
    async fn open(self, session: &Session) -> Result<(Worqr, String)> {
        Ok((self.target.open(session).await?, self.queue))
    }
}

/// Returns a task as a field. Bytes that are not UTF-8 are in a separate base64 field.
fn task(task: &[u8]) -> Field {
    print::content("task", "task_base64", task)
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
    match command {
        Command::Tasks(command) => command.run(session).await,
        Command::Processes(command) => command.run(session).await,
        Command::Workers(command) => Box::pin(command.run(session)).await,
        Command::Listen(arguments) => listen::run(arguments, session).await,
        Command::Run(arguments) => Box::pin(run::run(*arguments, session, launch)).await,
    }
}
