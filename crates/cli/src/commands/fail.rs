//! `windlass fail`: fails an attempt; the job is retried later or becomes dead.

use clap::Args;
use windlass::store::Retry;
use windlass::{Due, duration};

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  windlass fail mail ID --token TOKEN --error 'no route to host' --delay 10m"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,

    /// Error message
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    error: String,

    /// Do not retry; the job becomes dead
    #[arg(long, conflicts_with = "delay")]
    permanent: bool,

    /// Retry after this long [default: exponential backoff]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delay: Option<String>,
}

/// Fails the attempt. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let id = job_lease.id.clone();
    let mut failure = job_lease.failure(arguments.error);
    if arguments.permanent {
        failure.retry = Retry::Permanent;
    } else if let Some(delay) = &arguments.delay {
        failure.retry = Retry::At(Due::After(duration::parse(delay)?));
    }
    let store = session.store().await?;

    let statuses = store.fail(&queue, vec![failure]).await?;

    outcome::print(session, &queue, &id, &statuses)
}
