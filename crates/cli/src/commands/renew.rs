//! `windlass renew`: extends the lease of claimed jobs.

use clap::Args;
use windlass::store::{Renewal, limits};
use windlass::{JobId, QueueName, Token};
use windlass_api::{Error, RenewReply};

use super::outcome;
use crate::exit::{CliError, Exit, Result};
use crate::parse;
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints the new end of the lease and the jobs that were asked to stop. Exits with 4 if the lease is lost.\n\n\
    Example:\n  windlass renew mail --token TOKEN --lease 2m"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// Id of one of the claimed jobs; optional, the token identifies the claim
    id: Option<String>,

    /// Lease token printed by `claim`
    #[arg(long, value_name = "T")]
    token: String,

    /// New lease duration, starting now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// Renews the lease of a claim; prints its new end and the jobs to stop.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let id = arguments.id.map(JobId::new).transpose()?;
    let token: Token = arguments.token.parse()?;
    let lease = parse::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
    limits::check_lease(lease)?;
    let store = session.store().await?;

    let renewed = store
        .renew(&queue, Renewal::Single { token }, lease)
        .await?;

    let Some(reply) = RenewReply::new(&queue, token, &renewed) else {
        return Err(id.as_ref().map_or_else(lease_lost, outcome::lost));
    };
    session.output.result(&reply, |output| {
        output.line(&format!("lease valid until {}", reply.lease_until));
        for id in &reply.cancel {
            output.note(&format!("job {id} was asked to stop"));
        }
    });
    Ok(Exit::Ok)
}

fn lease_lost() -> CliError {
    CliError::from(Error::token_lost())
}
