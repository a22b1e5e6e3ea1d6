//! `windlass job`: shows and changes jobs.

mod change;
mod get;
mod list;
pub(super) mod wait;

use clap::Subcommand;
use windlass::store::Change;
use windlass_api::request::Get;

use super::outcome::{self, OnQueue};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the details of a job
    Get(OnQueue<Get>),
    /// List jobs of a queue, page by page
    List(list::Arguments),
    /// Cancel waiting jobs; ask running ones to stop
    #[command(
        override_usage = "windlass job cancel [OPTIONS] <QUEUE> <ID>...|--payload P|--unique-key K|--all",
        after_help = "Examples:\n  windlass job cancel mail ID\n  windlass job cancel mail --all --kind letter"
    )]
    Cancel(change::CancelledJobs),
    /// Retry dead jobs
    #[command(
        override_usage = "windlass job retry [OPTIONS] <QUEUE> <ID>...|--all",
        after_help = "Examples:\n  windlass job retry mail ID\n  windlass job retry mail --all"
    )]
    Retry(change::Jobs),
    /// Delete finished jobs and free their ids
    #[command(
        override_usage = "windlass job delete [OPTIONS] <QUEUE> <ID>...|--all",
        after_help = "Example:\n  windlass job delete mail --all --state dead"
    )]
    Delete(change::Jobs),
    /// Run scheduled jobs now
    #[command(
        override_usage = "windlass job promote [OPTIONS] <QUEUE> <ID>...|--unique-key K|--all",
        after_help = "Example:\n  windlass job promote mail ID"
    )]
    Promote(change::LiveJobs),
    /// Wait until a job ends
    Wait(wait::Arguments),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Get(arguments) => outcome::run(arguments, session).await,
        Command::List(arguments) => list::run(arguments, session).await,
        Command::Cancel(arguments) => change::run(Change::Cancel, arguments, session).await,
        Command::Retry(arguments) => change::run(Change::Retry, arguments, session).await,
        Command::Delete(arguments) => change::run(Change::Delete, arguments, session).await,
        Command::Promote(arguments) => change::run(Change::Promote, arguments, session).await,
        Command::Wait(arguments) => wait::run(arguments, session).await,
    }
}
