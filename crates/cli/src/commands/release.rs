//! `windlass release`: returns a job to its queue without counting the attempt.

use clap::Args;

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass release mail ID --token TOKEN")]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,
}

/// Releases the job. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let id = job_lease.id.clone();
    let store = session.store().await?;

    let statuses = store.release(&queue, vec![job_lease]).await?;

    outcome::print(session, &queue, &id, &statuses)
}
