//! Items come in, and end.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use windlass_api::Error;
use windlass_interop::redis_work_queue::Item;

use super::place::Place;
use crate::exit::{CliError, Exit, Result};
use crate::input::bytes_or_stdin;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "An id that is there already is no failure: nothing changes, exit 0.\n\n\
    Example:\n  windlass interop redis-work-queue add '[1,2]' --id sum-1-2 --prefix sums --layout 0.1"
)]
pub(crate) struct Add {
    /// The data; `-` reads standard input
    #[arg(allow_hyphen_values = true)]
    data: OsString,

    /// What the item is known by [default: a random UUID]
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Nobody else uses the id: do not look whether it is there
    #[arg(long)]
    unique: bool,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Of all calls for one item one completes it. Exit 3: there is no such item any more.\n\n\
    Example:\n  windlass interop redis-work-queue complete sum-1-2 --prefix sums --layout 0.1"
)]
pub(crate) struct Complete {
    /// The item
    id: String,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct AddReply<'a> {
    id: &'a str,
    added: bool,
}

#[derive(Debug, Serialize)]
struct CompleteReply<'a> {
    id: &'a str,
    completed: bool,
}

/// Adds an item.
pub(crate) async fn add(arguments: Add, session: &mut Session) -> Result<Exit> {
    let data = bytes_or_stdin(arguments.data)?;
    let item = match arguments.id {
        Some(id) => Item::with_id(id, data),
        None => Item::new(data),
    };
    let queue = arguments.place.open(session).await?;
    let added = if arguments.unique {
        queue.add_unique_item(&item).await?;
        true
    } else {
        queue.add_item(&item).await?
    };
    let reply = AddReply {
        id: &item.id,
        added,
    };
    session
        .output
        .result(&reply, |output| output.line(&item.id));
    if !added {
        let remark = format!("item {} is there already; nothing changed", item.id);
        session.output.note(&remark);
    }
    Ok(Exit::Ok)
}

/// Completes an item, or says that there is none.
pub(crate) async fn complete(arguments: Complete, session: &mut Session) -> Result<Exit> {
    let queue = arguments.place.open(session).await?;
    let id = arguments.id;
    if !queue.complete(&id).await? {
        let message =
            format!("there is no item {id:?} to complete: somebody else did, or it never was");
        let help = "discard this outcome; whoever completed it was told so";
        return Err(CliError::from(Error::new("gone", message, help)));
    }
    let reply = CompleteReply {
        id: &id,
        completed: true,
    };
    session
        .output
        .result(&reply, |output| output.line(&format!("{id} completed")));
    Ok(Exit::Ok)
}
