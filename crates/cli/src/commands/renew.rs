//! `windlass renew`: holds on to claimed jobs.

use clap::Args;
use windlass::store::{Renewal, limits};
use windlass::{JobId, QueueName, Token};
use windlass_api::{Error, RenewReply};

use super::settle;
use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::typed;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "It prints the new end, and says which of the jobs were asked to stop. Exit 4: the lease is lost.\n\n\
    Example:\n  windlass renew mail --token TOKEN --lease 2m"
)]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// One of the claimed jobs; the token alone is enough
    id: Option<String>,

    /// The token that the claim gave out
    #[arg(long, value_name = "T")]
    token: String,

    /// How long the jobs are held from now on [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// Renews the lease of a claim, and prints its new end and what should stop.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let id = arguments.id.map(JobId::new).transpose()?;
    let token: Token = arguments.token.parse()?;
    let lease = typed::duration_or(arguments.lease.as_deref(), limits::LEASE_DEFAULT)?;
    limits::check_lease(lease)?;
    let store = session.store().await?;

    let renewed = store
        .renew(&queue, Renewal::Single { token }, lease)
        .await?;

    let Some(reply) = RenewReply::new(&queue, token, &renewed) else {
        return Err(id.as_ref().map_or_else(nothing_held, settle::lost));
    };
    session.output.result(&reply, |output| {
        output.line(&format!("held until {}", reply.lease_until));
        for id in &reply.cancel {
            output.talk(&format!("job {id} was asked to stop"));
        }
    });
    Ok(Exit::Ok)
}

fn nothing_held() -> Failure {
    Failure::from(Error::token_lost())
}
