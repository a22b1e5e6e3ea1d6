//! `windlass job`: shows and changes jobs.

mod change;
pub(super) mod get;
mod list;
pub(super) mod wait;
mod why;

use clap::Subcommand;
use windlass::store::Change;
use windlass_api::request::{Get, List, Wait};

use super::verb::{self, OnQueue, OnQueues};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the details of a job
    Get(OnQueue<Get>),
    /// Explain why a job waits, and what to do about it
    #[command(
        after_help = "Prints every reason, the one that binds first, each with a command that puts an end to it. The time until the \
        job starts is an estimate.\n\nExample:\n  windlass job why mail ID --watch"
    )]
    Why(why::Arguments),
    /// List jobs of one or all queues, page by page
    #[command(
        override_usage = "windlass job list [OPTIONS] <QUEUE>|--all-queues",
        after_help = "AGE is the time since the job became ready, started or ended; `in 5m` is the time until it is due. \
        On a terminal, long kinds and errors are cut. `windlass job get` shows a job in full, with its payload and result.\n\n\
        Examples:\n  windlass job list mail --state dead --limit 20\n  windlass job list --all-queues --state dead"
    )]
    List(OnQueues<List>),
    /// Cancel waiting jobs; ask running ones to stop
    #[command(
        override_usage = "windlass job cancel [OPTIONS] <QUEUE> <ID>...|--payload P|--unique-key K|--all\n       windlass job cancel [OPTIONS] --all --all-queues",
        after_help = "Examples:\n  windlass job cancel mail ID\n  windlass job cancel mail --all --kind letter"
    )]
    Cancel(change::CancelledJobs),
    /// Retry dead jobs
    #[command(
        override_usage = "windlass job retry [OPTIONS] <QUEUE> <ID>...|--all\n       windlass job retry [OPTIONS] --all --all-queues",
        after_help = "Examples:\n  windlass job retry mail ID\n  windlass job retry mail --all"
    )]
    Retry(change::ChangedJobs),
    /// Delete finished jobs and free their ids and unique keys
    #[command(
        override_usage = "windlass job delete [OPTIONS] <QUEUE> <ID>...|--unique-key K|--all\n       windlass job delete [OPTIONS] --all --all-queues",
        after_help = "Examples:\n  windlass job delete mail --all --state dead\n  windlass job delete mail --unique-key K"
    )]
    Delete(change::KeyHolder),
    /// Run scheduled jobs now
    #[command(
        override_usage = "windlass job promote [OPTIONS] <QUEUE> <ID>...|--unique-key K|--all\n       windlass job promote [OPTIONS] --all --all-queues",
        after_help = "Example:\n  windlass job promote mail ID"
    )]
    Promote(change::KeyHolder),
    /// Wait until a job ends
    #[command(
        after_help = "Prints the job when it ends. Exits with 1 if it is dead or cancelled.\n\n\
        Example:\n  windlass job wait mail ID --timeout 5m"
    )]
    Wait(OnQueue<Wait>),
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Get(arguments) => verb::run(arguments, session).await,
        Command::Why(arguments) => why::run(arguments, session).await,
        Command::List(arguments) => list::run(arguments, session).await,
        Command::Cancel(jobs) => change::run(Change::Cancel, jobs.selected()?, session).await,
        Command::Retry(jobs) => change::run(Change::Retry, jobs, session).await,
        Command::Delete(jobs) => change::run(Change::Delete, jobs.selected(), session).await,
        Command::Promote(jobs) => change::run(Change::Promote, jobs.selected(), session).await,
        Command::Wait(arguments) => wait::run(arguments, session).await,
    }
}
