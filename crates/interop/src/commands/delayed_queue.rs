//! `windlass interop delayed-queue`: a peer of the Delayed Queue App.

mod jobs;
mod maintenance;
mod run;

use clap::{Args, Subcommand};
use windlass_exec::Launch;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::server;
use crate::delayed_queue::{DelayedQueue, PREFIX};

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Submit a job that is due later
    Submit(jobs::Submit),
    /// Move due jobs to the line, once or periodically
    Due(maintenance::Due),
    #[command(flatten)]
    Jobs(jobs::Command),
    /// Return jobs of dead workers to the line, once or periodically
    Monitor(maintenance::Monitor),
    /// Show the number of jobs by state
    Counts(Target),
    /// Run a program for each due job
    Run(Box<run::Arguments>),
}

/// The flag that all commands have.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Key prefix
    #[arg(long, value_name = "P", default_value = PREFIX)]
    prefix: String,
}

impl Target {
    async fn open(&self, session: &Session) -> Result<DelayedQueue> {
        Ok(DelayedQueue::new(server(session).await?, &self.prefix))
    }
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
    match command {
        Command::Submit(arguments) => jobs::submit(arguments, session).await,
        Command::Due(arguments) => maintenance::due(arguments, session).await,
        Command::Jobs(command) => command.run(session).await,
        Command::Monitor(arguments) => maintenance::monitor(arguments, session).await,
        Command::Counts(target) => {
            let counts = target.open(session).await?.counts().await?;
            session.output.result(&counts, |output| {
                output.fields(vec![
                    ("delayed", Some(counts.delayed.to_string())),
                    ("due", Some(counts.due.to_string())),
                    ("unacked", Some(counts.unacked.to_string())),
                ]);
            });
            Ok(Exit::Ok)
        }
        Command::Run(arguments) => Box::pin(run::run(*arguments, session, launch)).await,
    }
}
