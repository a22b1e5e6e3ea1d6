//! `windlass interop redis-work-queue`: one command per operation.

mod clean;
mod count;
mod items;
mod leases;
mod place;

use clap::Subcommand;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// One word per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put an item into a queue, unless its id is there already
    Add(items::Add),
    /// Take the next item under a lease
    Lease(leases::Lease),
    /// End an item, with or without a lease of it
    Complete(items::Complete),
    /// Move the end of a lease
    Renew(leases::Renew),
    /// Give an item back, to the front
    Release(leases::Release),
    /// See how many items wait
    Len(count::Arguments),
    /// See how many items are in somebody's hands or abandoned
    Processing(count::Arguments),
    /// See how many items wait and how many are in somebody's hands, at one moment
    Counts(count::Arguments),
    /// Bring back what is abandoned, once or as a cleaning process
    Clean(clean::Arguments),
}

/// Runs what was typed.
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
