//! `windlass job`: looks at jobs and changes them.

mod change;
mod get;
mod list;
pub(super) mod wait;

use clap::Subcommand;
use windlass_api::Verb;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print everything known of one job
    Get(get::Arguments),
    /// List jobs, a page at a time
    List(list::Arguments),
    /// Cancel waiting jobs; ask running ones to stop
    #[command(
        override_usage = "windlass job cancel [OPTIONS] <QUEUE> <ID>...|--payload P|--unique-key K|--all",
        after_help = "Examples:\n  windlass job cancel mail ID\n  windlass job cancel mail --all --kind letter"
    )]
    Cancel(change::CancelledJobs),
    /// Run dead jobs again
    #[command(
        override_usage = "windlass job retry [OPTIONS] <QUEUE> <ID>...|--all",
        after_help = "Examples:\n  windlass job retry mail ID\n  windlass job retry mail --all"
    )]
    Retry(change::Jobs),
    /// Forget finished jobs, and that their ids were ever used
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
    /// Wait until a job has ended
    Wait(wait::Arguments),
}

/// Runs the command that was typed.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::Get(arguments) => get::run(arguments, session).await,
        Command::List(arguments) => list::run(arguments, session).await,
        Command::Cancel(arguments) => change::run(Verb::Cancel, arguments, session).await,
        Command::Retry(arguments) => change::run(Verb::Retry, arguments, session).await,
        Command::Delete(arguments) => change::run(Verb::Delete, arguments, session).await,
        Command::Promote(arguments) => change::run(Verb::Promote, arguments, session).await,
        Command::Wait(arguments) => wait::run(arguments, session).await,
    }
}
