//! Submits jobs.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use windlass::Due;
use windlass_api::timestamp;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Arguments of `submit`.
#[derive(Debug, Args)]
#[command(
    after_help = "The due time is rounded up to whole seconds. One in the past is due immediately.\n\n\
    Example:\n  windlass interop delayed-queue submit 'dear Ann' --delay 10m"
)]
#[command(group(clap::ArgGroup::new("when").required(true)))]
pub(crate) struct Submit {
    /// Payload; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    payload: OsString,

    /// Due time: RFC 3339, or seconds since 1970
    #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
    at: Option<String>,

    /// Delay from now
    #[arg(long, value_name = "D", group = "when", allow_hyphen_values = true)]
    delay: Option<String>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct SubmitReply {
    id: String,
}

/// Submits a job.
pub(crate) async fn submit(arguments: Submit, session: &mut Session) -> Result<Exit> {
    let due = match (&arguments.at, parse::duration(arguments.delay.as_deref())?) {
        (Some(at), _) => Due::At(timestamp::parse(at)?),
        (None, delay) => delay.map_or(Due::Now, Due::After),
    };
    let payload = bytes_or_stdin(arguments.payload)?;
    let queue = arguments.target.open(session).await?;
    let reply = SubmitReply {
        id: queue.submit(payload, due).await?,
    };
    session
        .output
        .result(&reply, |output| output.line(&reply.id));
    Ok(Exit::Ok)
}
