//! `windlass accept`: accepts a dispatched job.

use clap::Args;
use windlass::LeaseStatus;
use windlass::store::limits;
use windlass_api::OutcomeReply;

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::typed;

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass accept mail ID --token TOKEN --lease 5m")]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,

    /// How long the job is held from now on [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// Accepts the job, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let lease = typed::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
    limits::check_lease(lease)?;
    let id = hold.id.clone();
    let store = session.store().await?;

    match store.accept(&queue, hold, lease).await? {
        LeaseStatus::Lost => Err(settle::lost(&id)),
        LeaseStatus::Valid => {
            let reply = OutcomeReply::new(&queue, &id, "accepted");
            session
                .output
                .result(&reply, |output| output.line(reply.outcome));
            Ok(Exit::Ok)
        }
    }
}
