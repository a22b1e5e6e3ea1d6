//! `windlass interop blueque`: one command per operation.

mod clean;
mod listen;
mod outcome;
mod reply;
mod run;
mod show;
mod target;
mod tasks;

use clap::Subcommand;
use windlass_exec::Launch;

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a task to the end of a queue
    Enqueue(tasks::Enqueue),
    /// Schedule a task
    Schedule(tasks::Schedule),
    /// Move due tasks from the schedule to the end of the queue
    Due(tasks::Due),
    /// Take the next task
    Listen(listen::Listen),
    /// Claim a task of a dead listener
    ClaimOrphan(listen::ClaimOrphan),
    /// Send a heartbeat for a listener
    Heartbeat(listen::Heartbeat),
    /// Mark a task as started
    Start(outcome::Start),
    /// Complete a task
    Complete(outcome::Complete),
    /// Fail a task
    Fail(outcome::Fail),
    /// Delete a finished task
    Delete(tasks::Delete),
    /// Show a task
    Get(show::Get),
    /// List the listeners of a queue
    Listeners(show::Listeners),
    /// List all queues
    Queues(show::Queues),
    /// Return or fail the tasks of dead listeners
    Clean(clean::Arguments),
    /// Run a program for each task, one at a time
    Run(run::Arguments),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session, launch: Launch) -> Result<Exit> {
    match command {
        Command::Enqueue(arguments) => tasks::enqueue(arguments, session).await,
        Command::Schedule(arguments) => tasks::schedule(arguments, session).await,
        Command::Due(arguments) => tasks::due(arguments, session).await,
        Command::Listen(arguments) => listen::listen(arguments, session).await,
        Command::ClaimOrphan(arguments) => listen::claim_orphan(arguments, session).await,
        Command::Heartbeat(arguments) => listen::heartbeat(arguments, session).await,
        Command::Start(arguments) => outcome::start(arguments, session).await,
        Command::Complete(arguments) => outcome::complete(arguments, session).await,
        Command::Fail(arguments) => outcome::fail(arguments, session).await,
        Command::Delete(arguments) => tasks::delete(arguments, session).await,
        Command::Get(arguments) => show::get(arguments, session).await,
        Command::Listeners(arguments) => show::listeners(arguments, session).await,
        Command::Queues(arguments) => show::queues(arguments, session).await,
        Command::Clean(arguments) => clean::run(arguments, session).await,
        Command::Run(arguments) => Box::pin(run::run(arguments, session, launch)).await,
    }
}
