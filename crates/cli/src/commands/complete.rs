//! `windlass complete`: completes a job.

use std::ffi::OsString;

use clap::Args;
use windlass::store::Limits;

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 4 if the lease is lost (another worker may have the job), 3 if the job does not exist.\n\n\
    Example:\n  windlass complete mail ID --token TOKEN --result sent"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,

    /// Result to store with the job; `-` reads stdin
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// Completes the job. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let id = job_lease.id.clone();
    let mut completion = job_lease.completion();
    completion.result = arguments.result.map(bytes_or_stdin).transpose()?;
    let bytes = completion.result.as_ref().map_or(0, windlass::Bytes::len);
    Limits::default().check_bytes("result", bytes)?;
    let store = session.store().await?;

    let completed = store.complete(&queue, vec![completion], None).await?;

    outcome::print(session, &queue, &id, &completed.statuses)
}
