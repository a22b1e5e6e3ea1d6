//! `windlass progress`: reports the progress of a job.

use clap::Args;
use windlass::{Error, LeaseStatus, Progress};
use windlass_api::OutcomeReply;

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Does not renew the lease.\n\n\
    Example:\n  windlass progress mail ID --token TOKEN 0.4 'page 4 of 10'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,

    /// Progress from 0 to 1
    #[arg(allow_negative_numbers = true)]
    fraction: String,

    /// Message to show with the progress
    message: Option<String>,
}

/// Stores the progress. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let fraction: f64 = arguments.fraction.parse().map_err(|_| {
        Error::invalid(
            "progress",
            format!("{:?} is not a number", arguments.fraction),
            "use a fraction from 0 to 1, for example 0.4",
        )
    })?;
    Progress::check(fraction)?;
    let id = job_lease.id.clone();
    let store = session.store().await?;

    match store
        .progress(&queue, job_lease, fraction, arguments.message)
        .await?
    {
        LeaseStatus::Lost => Err(outcome::lost(&id)),
        LeaseStatus::Valid => {
            let reply = OutcomeReply::new(&queue, &id, "recorded");
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
    }
}
