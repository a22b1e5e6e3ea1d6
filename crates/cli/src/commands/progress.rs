//! `windlass progress`: says how far a job has come.

use clap::Args;
use windlass::{Error, LeaseStatus, Progress};
use windlass_api::OutcomeReply;

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "It does not renew the lease.\n\n\
    Example:\n  windlass progress mail ID --token TOKEN 0.4 'page 4 of 10'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,

    /// How far it has come, from 0 to 1
    #[arg(allow_negative_numbers = true)]
    fraction: String,

    /// What is being done, for people
    message: Option<String>,
}

/// Notes the progress, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let fraction: f64 = arguments.fraction.parse().map_err(|_| {
        Error::invalid(
            "progress",
            format!("it is not a number: {:?}", arguments.fraction),
            "use a fraction from 0 to 1, for example 0.4",
        )
    })?;
    Progress::check(fraction)?;
    let id = hold.id.clone();
    let store = session.store().await?;

    match store
        .progress(&queue, hold, fraction, arguments.message)
        .await?
    {
        LeaseStatus::Lost => Err(settle::lost(&id)),
        LeaseStatus::Valid => {
            let reply = OutcomeReply::new(&queue, &id, "noted");
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
    }
}
