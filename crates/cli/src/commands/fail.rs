//! `windlass fail`: ends an attempt badly; the job runs again later, or is dead.

use clap::Args;
use windlass::store::Retry;
use windlass::{Due, duration};

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  windlass fail mail ID --token TOKEN --error 'no route to host' --delay 10m"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,

    /// What went wrong
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    error: String,

    /// Do not try again: the job is dead
    #[arg(long, conflicts_with = "delay")]
    permanent: bool,

    /// Try again after this long; without it, later with every attempt
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delay: Option<String>,
}

/// Fails the attempt, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let id = hold.id.clone();
    let mut failure = hold.failure(arguments.error);
    if arguments.permanent {
        failure.retry = Retry::Permanent;
    } else if let Some(delay) = &arguments.delay {
        failure.retry = Retry::At(Due::After(duration::parse(delay)?));
    }
    let store = session.store().await?;

    let settled = store.fail(&queue, vec![failure]).await?;

    settle::print(session, &queue, &id, &settled)
}
