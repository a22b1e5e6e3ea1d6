//! `windlass interop blueque`: one command per operation.

mod clean;
mod listen;
mod place;
mod reply;
mod run;
mod settle;
mod show;
mod tasks;

use clap::Subcommand;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// One word per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a task at the end of a queue
    Enqueue(tasks::Enqueue),
    /// Put a task into the schedule of a queue
    Schedule(tasks::Schedule),
    /// Move scheduled tasks whose time has come to the end of their queue
    Due(tasks::Due),
    /// Take the next task
    Listen(listen::Listen),
    /// Take over a task of a listener that died
    ClaimOrphan(listen::ClaimOrphan),
    /// Say that a listener is alive
    Beat(listen::Beat),
    /// Say that a task runs
    Start(settle::Start),
    /// End a task well
    Complete(settle::Complete),
    /// End a task as failed
    Fail(settle::Fail),
    /// Remove a finished task
    Delete(tasks::Delete),
    /// See a task
    Get(show::Get),
    /// See who listens to a queue
    Listeners(show::Listeners),
    /// See all queues
    Queues(show::Queues),
    /// Bring back what dead listeners held
    Clean(clean::Arguments),
    /// Run a program for each task, one at a time
    Run(run::Arguments),
}

/// Runs what was typed.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Enqueue(arguments) => tasks::enqueue(arguments, session).await,
        Command::Schedule(arguments) => tasks::schedule(arguments, session).await,
        Command::Due(arguments) => tasks::due(arguments, session).await,
        Command::Listen(arguments) => listen::listen(arguments, session).await,
        Command::ClaimOrphan(arguments) => listen::claim_orphan(arguments, session).await,
        Command::Beat(arguments) => listen::beat(arguments, session).await,
        Command::Start(arguments) => settle::start(arguments, session).await,
        Command::Complete(arguments) => settle::complete(arguments, session).await,
        Command::Fail(arguments) => settle::fail(arguments, session).await,
        Command::Delete(arguments) => tasks::delete(arguments, session).await,
        Command::Get(arguments) => show::get(arguments, session).await,
        Command::Listeners(arguments) => show::listeners(arguments, session).await,
        Command::Queues(arguments) => show::queues(arguments, session).await,
        Command::Clean(arguments) => clean::run(arguments, session).await,
        Command::Run(arguments) => Box::pin(run::run(arguments, session)).await,
    }
}
