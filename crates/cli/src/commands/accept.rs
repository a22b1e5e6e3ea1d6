//! `windlass accept`: accepts a dispatched job.

use clap::Args;
use windlass::LeaseStatus;
use windlass::store::limits;
use windlass_api::OutcomeReply;

use super::outcome;
use crate::args;
use crate::exit::{Exit, Result};
use crate::parse;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass accept mail ID --token TOKEN --lease 5m")]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: args::JobLeaseArgs,

    /// New lease duration, starting now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// Accepts the job. Fails if the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, job_lease) = outcome::job_lease(&arguments.job)?;
    let lease = parse::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
    limits::check_lease(lease)?;
    let id = job_lease.id.clone();
    let store = session.store().await?;

    match store.accept(&queue, job_lease, lease).await? {
        LeaseStatus::Lost => Err(outcome::lost(&id)),
        LeaseStatus::Valid => {
            let reply = OutcomeReply::new(&queue, &id, "accepted");
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
    }
}
