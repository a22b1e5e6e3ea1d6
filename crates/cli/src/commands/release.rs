//! `windlass release`: gives a job back, attempt not counted.

use clap::Args;

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  windlass release mail ID --token TOKEN")]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,
}

/// Releases the job, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let id = hold.id.clone();
    let store = session.store().await?;

    let settled = store.release(&queue, vec![hold]).await?;

    settle::print(session, &queue, &id, &settled)
}
