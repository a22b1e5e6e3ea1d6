//! `windlass snooze`: puts a job off, attempt not counted.

use clap::Args;
use windlass_api::enqueue::due;

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass snooze mail ID --token TOKEN --for 1h")]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,

    /// For this long
    #[arg(
        long = "for",
        value_name = "D",
        group = "when",
        allow_hyphen_values = true
    )]
    delay: Option<String>,

    /// Until this time, such as 2030-01-31T12:00:00Z
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    until: Option<String>,
}

/// Snoozes the job, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let id = hold.id.clone();
    let due = due(arguments.delay.as_deref(), arguments.until.as_deref())?;
    let store = session.store().await?;

    let settled = store.snooze(&queue, vec![hold.snooze(due)]).await?;

    settle::print(session, &queue, &id, &settled)
}
