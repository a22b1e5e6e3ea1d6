//! `windlass interop redis-work-queue`: one command per operation.

mod clean;
mod count;
mod items;
mod leases;
mod target;

use clap::Subcommand;

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add an item, unless its id already exists
    Add(items::Add),
    /// Lease the next item
    Lease(leases::Lease),
    /// Complete an item, with or without a lease
    Complete(items::Complete),
    /// Extend a lease
    Renew(leases::Renew),
    /// Return an item to the front of the queue
    Release(leases::Release),
    /// Show the number of waiting items
    Len(count::Arguments),
    /// Show the number of items held by workers or abandoned
    Processing(count::Arguments),
    /// Show the numbers of waiting and of held items, read atomically
    Counts(count::Arguments),
    /// Return abandoned items to the queue, once or periodically
    Clean(clean::Arguments),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Add(arguments) => items::add(arguments, session).await,
        Command::Lease(arguments) => leases::lease(arguments, session).await,
        Command::Complete(arguments) => items::complete(arguments, session).await,
        Command::Renew(arguments) => leases::renew(arguments, session).await,
        Command::Release(arguments) => leases::release(arguments, session).await,
        Command::Len(arguments) => count::queue_len(arguments, session).await,
        Command::Processing(arguments) => count::processing(arguments, session).await,
        Command::Counts(arguments) => count::counts(arguments, session).await,
        Command::Clean(arguments) => clean::run(arguments, session).await,
    }
}
