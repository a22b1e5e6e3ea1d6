//! `windlass snooze`: postpones a job without counting the attempt.

use clap::Args;
use windlass_api::enqueue::due;

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass snooze mail ID --token TOKEN --for 1h")]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,

    /// Postpone by this long
    #[arg(
        long = "for",
        value_name = "D",
        group = "when",
        allow_hyphen_values = true
    )]
    delay: Option<String>,

    /// Postpone until this time, for example 2030-01-31T12:00:00Z
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    until: Option<String>,
}

/// Snoozes the job. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let id = job_lease.id.clone();
    let due = due(arguments.delay.as_deref(), arguments.until.as_deref())?;
    let store = session.store().await?;

    let statuses = store.snooze(&queue, vec![job_lease.snooze(due)]).await?;

    outcome::print(session, &queue, &id, &statuses)
}
