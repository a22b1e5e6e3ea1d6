//! Leases items, and renews and releases leases.

use std::time::Duration;

use crate::redis_work_queue::{Item, WorkQueue};
use clap::Args;
use serde::Serialize;
use windlass_api::content::Content;
use windlass_api::{Code, Error};

use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Default lease duration, as everywhere in Windlass.
const LEASE: Duration = Duration::from_secs(30);

/// Arguments of `lease`.
#[derive(Debug, Args)]
#[command(
    after_help = "If the queue is empty, prints null and exits with 0. `renew` and `release` need the session; `complete` \
    does not.\n\n\
    Example:\n  windlass interop redis-work-queue lease --lease 2m --wait 500ms --json --prefix sums --layout 0.1"
)]
pub(crate) struct Lease {
    /// Lease duration [default: 30s]
    #[arg(long = "lease", value_name = "D", allow_hyphen_values = true)]
    time: Option<String>,

    /// How long to wait if no item is available [default: do not wait]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    /// Session id [default: random]
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `renew`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 4: the lease has expired, and another session may have the item."
)]
pub(crate) struct Renew {
    #[command(flatten)]
    item: LeasedItem,

    /// New lease duration, starting now [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    lease: Option<String>,
}

/// Arguments of `release`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 4: the lease has expired, and another session may have the item."
)]
pub(crate) struct Release {
    #[command(flatten)]
    item: LeasedItem,
}

/// A leased item.
#[derive(Debug, Args)]
struct LeasedItem {
    /// Item id
    id: String,

    /// The session that leased it
    #[arg(long, value_name = "ID")]
    session: String,

    #[command(flatten)]
    target: Target,
}

impl LeasedItem {
    async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let queue = self.target.open(session).await?;
        Ok(queue.with_session(&self.session))
    }
}

/// JSON form of a leased item. Data that is not UTF-8 is in a separate base64 field.
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

/// Leases an item and prints it, or null.
pub(crate) async fn lease(arguments: Lease, session: &mut Session) -> Result<Exit> {
    let lease = parse::duration_or(arguments.time.as_deref(), LEASE)?;
    let wait = parse::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let mut queue = arguments.target.open(session).await?;
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
        (None, _) => session.output.note("no item available"),
        (Some(item), Some(why)) => return Err(give_back(&queue, &item, &why).await),
        (Some(_), None) => {}
    }
    Ok(Exit::Ok)
}

/// Returns an item that could not be printed, instead of waiting for its lease to expire.
async fn give_back(queue: &WorkQueue, item: &Item, why: &str) -> CliError {
    let id = &item.id;
    let (what, help) = match queue.release(id).await {
        Ok(_) => (
            "it was returned to the queue",
            "lease again, and read stdout",
        ),
        Err(_) => (
            "it could not be returned",
            "a clean returns it once the lease has expired",
        ),
    };
    let message =
        format!("item {id:?} was leased but could not be written to stdout: {why}; {what}");
    CliError::from(Error::new(Code::Unwritable, message, help))
}

/// Renews a lease. Fails if it is lost.
pub(crate) async fn renew(arguments: Renew, session: &mut Session) -> Result<Exit> {
    let lease = parse::duration_or(arguments.lease.as_deref(), LEASE)?;
    let queue = arguments.item.open(session).await?;
    let id = &arguments.item.id;
    if !queue.renew(id, lease).await? {
        return Err(lost(id));
    }
    let reply = RenewReply { id, renewed: true };
    session
        .output
        .result(&reply, |output| output.line(&format!("{id} renewed")));
    Ok(Exit::Ok)
}

/// Releases an item. Fails if the lease is lost.
pub(crate) async fn release(arguments: Release, session: &mut Session) -> Result<Exit> {
    let queue = arguments.item.open(session).await?;
    let id = &arguments.item.id;
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
    let help = "discard the result and lease again: another session may have the item";
    CliError::from(Error::new(Code::LeaseLost, message, help))
}
