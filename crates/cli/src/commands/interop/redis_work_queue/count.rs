//! How much there is.

use clap::Args;
use serde::Serialize;

use super::place::Place;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
}

/// The figures that were asked for.
#[derive(Debug, Default, Serialize)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processing: Option<u64>,
}

/// How many wait.
pub(crate) async fn queue_len(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let length = arguments.place.open(session).await?.queue_len().await?;
    let reply = Reply {
        queue: Some(length),
        ..Reply::default()
    };
    print(&reply, session);
    Ok(Exit::Ok)
}

/// How many are in somebody's hands or abandoned.
pub(crate) async fn processing(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let length = arguments.place.open(session).await?.processing().await?;
    let reply = Reply {
        processing: Some(length),
        ..Reply::default()
    };
    print(&reply, session);
    Ok(Exit::Ok)
}

/// Both at one moment.
pub(crate) async fn counts(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let counts = arguments.place.open(session).await?.counts().await?;
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
