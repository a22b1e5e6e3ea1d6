//! `windlass interop blueque`: one command per operation.

mod clean;
mod listen;
mod outcome;
mod run;
mod show;
mod tasks;

use clap::{Args, Subcommand};
use windlass_exec::Launch;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::server;
use crate::blueque::{Blueque, BluequeLayout, BluequeQueue};

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Tasks(tasks::Command),
    #[command(flatten)]
    Listen(listen::Command),
    #[command(flatten)]
    Outcome(outcome::Command),
    #[command(flatten)]
    Show(show::Command),
    /// Return or fail the tasks of dead listeners
    Clean(clean::Arguments),
    /// Run a program for each task, one at a time
    Run(Box<run::Arguments>),
}

/// The flag that all commands have.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Key layout: blueque_… or bluequeue_…
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: BluequeLayout,
}

impl Target {
    async fn open(&self, session: &Session) -> Result<Blueque> {
        Ok(Blueque::new(server(session).await?, self.layout))
    }

    async fn queue(&self, name: &str, session: &Session) -> Result<BluequeQueue> {
        Ok(self.open(session).await?.queue(name)?)
    }
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
    match command {
        Command::Tasks(command) => command.run(session).await,
        Command::Listen(command) => command.run(session).await,
        Command::Outcome(command) => command.run(session).await,
        Command::Show(command) => command.run(session).await,
        Command::Clean(arguments) => clean::run(arguments, session).await,
        Command::Run(arguments) => Box::pin(run::run(*arguments, session, launch)).await,
    }
}
