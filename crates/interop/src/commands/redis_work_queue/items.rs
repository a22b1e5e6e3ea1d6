//! Adds and completes items.

use std::ffi::OsString;

use crate::redis_work_queue::Item;
use clap::Args;
use serde::Serialize;
use windlass_api::{Code, Error};

use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

/// Arguments of `add`.
#[derive(Debug, Args)]
#[command(
    after_help = "If the id already exists, nothing changes and the exit code is 0.\n\n\
    Example:\n  windlass interop redis-work-queue add '[1,2]' --id sum-1-2 --prefix sums --layout 0.1"
)]
pub(crate) struct Add {
    /// Data; `-` reads stdin
    #[arg(allow_hyphen_values = true)]
    data: OsString,

    /// Item id [default: a random UUID]
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Do not check whether the id exists
    #[arg(long)]
    unique: bool,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `complete`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exactly one call completes an item. Exit code 3: the item does not exist any more.\n\n\
    Example:\n  windlass interop redis-work-queue complete sum-1-2 --prefix sums --layout 0.1"
)]
pub(crate) struct Complete {
    /// Item id
    id: String,

    #[command(flatten)]
    target: Target,
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
    let queue = arguments.target.open(session).await?;
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
        let remark = format!("item {} already exists; nothing changed", item.id);
        session.output.note(&remark);
    }
    Ok(Exit::Ok)
}

/// Completes an item. Fails if it does not exist.
pub(crate) async fn complete(arguments: Complete, session: &mut Session) -> Result<Exit> {
    let queue = arguments.target.open(session).await?;
    let id = arguments.id;
    if !queue.complete(&id).await? {
        let message = format!("item {id:?} not found: it was already completed, or never existed");
        let help = "discard the result: at most one call completes an item";
        return Err(CliError::from(Error::new(Code::Gone, message, help)));
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
