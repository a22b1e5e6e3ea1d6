//! Counts items.

use clap::Args;
use serde::Serialize;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// Arguments of `len`, `processing` and `counts`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
}

/// The requested counts.
#[derive(Debug, Default, Serialize)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processing: Option<u64>,
}

/// Prints the number of waiting items.
pub(crate) async fn queue_len(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let length = arguments.target.open(session).await?.queue_len().await?;
    let reply = Reply {
        queue: Some(length),
        ..Reply::default()
    };
    print(&reply, session);
    Ok(Exit::Ok)
}

/// Prints the number of items held by workers or abandoned.
pub(crate) async fn processing(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let length = arguments.target.open(session).await?.processing().await?;
    let reply = Reply {
        processing: Some(length),
        ..Reply::default()
    };
    print(&reply, session);
    Ok(Exit::Ok)
}

/// Prints both numbers.
pub(crate) async fn counts(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let counts = arguments.target.open(session).await?.counts().await?;
    let reply = Reply {
        queue: Some(counts.queue),
        processing: Some(counts.processing),
    };
    print(&reply, session);
    Ok(Exit::Ok)
}

fn print(reply: &Reply, session: &mut Session) {
    session.output.result(reply, |output| {
        output.fields(vec![
            ("queue", reply.queue.map(|length| length.to_string())),
            (
                "processing",
                reply.processing.map(|length| length.to_string()),
            ),
        ]);
    });
}
