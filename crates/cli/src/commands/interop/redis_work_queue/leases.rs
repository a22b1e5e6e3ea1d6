//! Items are leased, held on to, and given back.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass_api::Error;
use windlass_api::content::Content;
use windlass_interop::redis_work_queue::{Item, WorkQueue};

use super::place::Place;
use crate::exit::{CliError, Exit, Result};
use crate::parse;
use crate::session::Session;

/// How long a lease lasts unless said otherwise, as everywhere in this program.
const LEASE: Duration = Duration::from_secs(30);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing to lease is no failure: null, exit 0. Show the session to `renew` and `release`; `complete` \
    needs none.\n\n\
    Example:\n  windlass interop redis-work-queue lease --lease 2m --wait 500ms --json --prefix sums --layout 0.1"
)]
pub(crate) struct Lease {
    /// How long the item is held without a renewal [default: 30s]
    #[arg(long = "lease", value_name = "D", allow_hyphen_values = true)]
    time: Option<String>,

    /// How long to wait for an item where there is none
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    /// Who leases [default: a random id]
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit 4: the lease is over, and somebody else may have the item.")]
pub(crate) struct Renew {
    #[command(flatten)]
    held: Held,

    /// How long from now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit 4: the lease is over, and somebody else may have the item.")]
pub(crate) struct Release {
    #[command(flatten)]
    held: Held,
}

/// An item in somebody's hands.
#[derive(Debug, Args)]
struct Held {
    /// The item
    id: String,

    /// The session that leased it
    #[arg(long, value_name = "ID")]
    session: String,

    #[command(flatten)]
    place: Place,
}

impl Held {
    async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let queue = self.place.open(session).await?;
        Ok(queue.with_session(&self.session))
    }
}

/// A leased item; data that is not UTF-8 is base64 in a field of its own.
#[derive(Debug, Serialize)]
struct LeaseReply<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
    session: &'a str,
}

#[derive(Debug, Serialize)]
struct RenewReply<'a> {
    id: &'a str,
    renewed: bool,
}

#[derive(Debug, Serialize)]
struct ReleaseReply<'a> {
    id: &'a str,
    released: bool,
}

/// Leases, and prints what was handed out; nothing is no failure.
pub(crate) async fn lease(arguments: Lease, session: &mut Session) -> Result<Exit> {
    let lease = parse::duration_or(arguments.time.as_deref(), LEASE)?;
    let wait = parse::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let mut queue = arguments.place.open(session).await?;
    if let Some(id) = arguments.session {
        queue = queue.with_session(id);
    }
    let item = queue.lease(lease, Some(wait)).await?;
    let reply = item.as_ref().map(|item| {
        let (data, data_base64) = Content::of(&item.data).split();
        LeaseReply {
            id: &item.id,
            data,
            data_base64,
            session: queue.session(),
        }
    });
    session.output.result(&reply, |output| {
        if let Some(reply) = &reply {
            output.fields(vec![
                ("id", Some(reply.id.to_owned())),
                ("session", Some(reply.session.to_owned())),
                ("data", reply.data.clone().or(reply.data_base64.clone())),
            ]);
        }
    });
    match (item, session.output.undelivered()) {
        (None, _) => session.output.note("nothing to lease"),
        (Some(item), Some(why)) => return Err(give_back(&queue, &item, &why).await),
        (Some(_), None) => {}
    }
    Ok(Exit::Ok)
}

/// An item that nobody heard of goes back now, not when the lease ends.
async fn give_back(queue: &WorkQueue, item: &Item, why: &str) -> CliError {
    let id = &item.id;
    let (what, help) = match queue.release(id).await {
        Ok(_) => ("it went back", "lease again, with standard output read"),
        Err(_) => (
            "it could not be given back",
            "it comes back when the lease ends and the queue is cleaned",
        ),
    };
    let message = format!("the item {id:?} was leased and cannot be written: {why}; {what}");
    CliError::from(Error::new("unwritable", message, help))
}

/// Renews a lease, or says that it is lost.
pub(crate) async fn renew(arguments: Renew, session: &mut Session) -> Result<Exit> {
    let lease = parse::duration_or(arguments.lease.as_deref(), LEASE)?;
    let queue = arguments.held.open(session).await?;
    let id = &arguments.held.id;
    if !queue.renew(id, lease).await? {
        return Err(lost(id));
    }
    let reply = RenewReply { id, renewed: true };
    session
        .output
        .result(&reply, |output| output.line(&format!("{id} renewed")));
    Ok(Exit::Ok)
}

/// Gives an item back, or says that the lease is lost.
pub(crate) async fn release(arguments: Release, session: &mut Session) -> Result<Exit> {
    let queue = arguments.held.open(session).await?;
    let id = &arguments.held.id;
    if !queue.release(id).await? {
        return Err(lost(id));
    }
    let reply = ReleaseReply { id, released: true };
    session
        .output
        .result(&reply, |output| output.line(&format!("{id} released")));
    Ok(Exit::Ok)
}

fn lost(id: &str) -> CliError {
    let message = format!("this session does not hold item {id:?} any more; nothing changed");
    let help = "somebody else may have it by now: lease again";
    CliError::from(Error::new("lease_lost", message, help))
}
