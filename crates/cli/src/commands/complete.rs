//! `windlass complete`: ends a job well.

use std::ffi::OsString;

use clap::Args;
use windlass::store::Limits;

use super::settle;
use crate::args;
use crate::exit::{Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit 4: the lease is lost, and somebody else may have the job. Exit 3: there is no such job.\n\n\
    Example:\n  windlass complete mail ID --token TOKEN --result sent"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    held: args::JobLeaseArgs,

    /// What the job leaves behind; `-` reads standard input
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    result: Option<OsString>,
}

/// Completes the job, or says that the lease is lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let (queue, hold) = settle::hold(&arguments.held)?;
    let id = hold.id.clone();
    let mut completion = hold.completion();
    completion.result = arguments.result.map(bytes_or_stdin).transpose()?;
    let bytes = completion.result.as_ref().map_or(0, windlass::Bytes::len);
    Limits::default().check_bytes("result", bytes)?;
    let store = session.store().await?;

    let completed = store.complete(&queue, vec![completion], None).await?;

    settle::print(session, &queue, &id, &completed.statuses)
}
