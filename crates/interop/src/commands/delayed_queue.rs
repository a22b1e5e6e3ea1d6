//! `windlass interop delayed-queue`: a peer of the Delayed Queue App.

mod jobs;
mod maintenance;
mod run;
mod submit;
mod target;

use clap::Subcommand;
use windlass_exec::Launch;

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Submit a job that is due later
    Submit(submit::Submit),
    /// Move due jobs to the line, once or periodically
    Due(maintenance::Due),
    /// Take the next due job
    Take(jobs::Take),
    /// Remove a finished job
    Ack(jobs::HeldJob),
    /// Return a job that was not finished
    Nack(jobs::Nack),
    /// Extend the time for a job
    Renew(jobs::HeldJob),
    /// Return jobs of dead workers to the line, once or periodically
    Monitor(maintenance::Monitor),
    /// Show the number of jobs by state
    Counts(jobs::Counts),
    /// Run a program for each due job
    Run(run::Arguments),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
    match command {
        Command::Submit(arguments) => submit::submit(arguments, session).await,
        Command::Due(arguments) => maintenance::due(arguments, session).await,
        Command::Take(arguments) => jobs::take(arguments, session).await,
        Command::Ack(arguments) => jobs::ack(arguments, session).await,
        Command::Nack(arguments) => jobs::nack(arguments, session).await,
        Command::Renew(arguments) => jobs::renew(arguments, session).await,
        Command::Monitor(arguments) => maintenance::monitor(arguments, session).await,
        Command::Counts(arguments) => jobs::counts(arguments, session).await,
        Command::Run(arguments) => Box::pin(run::run(arguments, session, launch)).await,
    }
}
