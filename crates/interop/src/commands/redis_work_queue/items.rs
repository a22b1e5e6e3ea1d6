//! Adds, leases, renews, releases and completes items.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};
use windlass::duration;
use windlass_api::{Code, Error};
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print::{self, Object, content, shown};
use crate::redis_work_queue::{Item, WorkQueue};

/// Default lease duration, as everywhere in Windlass.
const LEASE: Duration = Duration::from_secs(30);

/// Commands about one item.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add an item, unless its id already exists
    #[command(
        after_help = "If the id already exists, nothing changes and the exit code is 0.\n\n\
        Example:\n  windlass interop redis-work-queue add '[1,2]' --id sum-1-2 --prefix sums --layout 0.1"
    )]
    Add {
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
    },
    /// Lease the next item
    #[command(
        after_help = "If the queue is empty, prints null and exits with 0. `renew` and `release` need the session; `complete` \
        does not.\n\n\
        Example:\n  windlass interop redis-work-queue lease --lease 2m --wait 500ms --json --prefix sums --layout 0.1"
    )]
    Lease {
        /// Lease duration [default: 30s]
        #[arg(long = "lease", value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        time: Option<Duration>,

        /// How long to wait if no item is available [default: do not wait]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        wait: Option<Duration>,

        /// Session id [default: random]
        #[arg(long, value_name = "ID")]
        session: Option<String>,

        #[command(flatten)]
        target: Target,
    },
    /// Complete an item, with or without a lease
    #[command(
        after_help = "Exactly one call completes an item. Exit code 3: the item does not exist any more.\n\n\
        Example:\n  windlass interop redis-work-queue complete sum-1-2 --prefix sums --layout 0.1"
    )]
    Complete {
        /// Item id
        id: String,

        #[command(flatten)]
        target: Target,
    },
    /// Extend a lease
    #[command(
        after_help = "Exit code 4: the lease has expired, and another session may have the item."
    )]
    Renew {
        #[command(flatten)]
        item: LeasedItem,

        /// New lease duration, starting now [default: 30s]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        lease: Option<Duration>,
    },
    /// Return an item to the front of the queue
    #[command(
        after_help = "Exit code 4: the lease has expired, and another session may have the item."
    )]
    Release(LeasedItem),
}

/// A leased item.
#[derive(Debug, Args)]
pub(crate) struct LeasedItem {
    /// Item id
    id: String,

    /// The session that leased it
    #[arg(long, value_name = "ID")]
    session: String,

    #[command(flatten)]
    target: Target,
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Add {
                data,
                id,
                unique,
                target,
            } => {
                let data = bytes_or_stdin(data)?;
                let item = match id {
                    Some(id) => Item::with_id(id, data),
                    None => Item::new(data),
                };
                add(&target.open(session).await?, &item, unique, session).await
            }
            Self::Lease {
                time,
                wait,
                session: id,
                target,
            } => {
                let lease = time.unwrap_or(LEASE);
                let wait = wait.unwrap_or(Duration::ZERO);
                let mut queue = target.open(session).await?;
                if let Some(id) = id {
                    queue = queue.with_session(id);
                }
                let item = queue.lease(lease, Some(wait)).await?;
                print_leased(&queue, item, session).await
            }
            Self::Complete { id, target } => {
                if !target.open(session).await?.complete(&id).await? {
                    let why = format!(
                        "item {id:?} not found: it was already completed, or never existed"
                    );
                    let help = "discard the result: at most one call completes an item";
                    return Err(CliError::from(Error::new(Code::Gone, why, help)));
                }
                print_end(session, id, "completed")
            }
            Self::Renew { item, lease } => {
                let lease = lease.unwrap_or(LEASE);
                let is_held = item.open(session).await?.renew(&item.id, lease).await?;
                item.end(is_held, "renewed", session)
            }
            Self::Release(item) => {
                let is_held = item.open(session).await?.release(&item.id).await?;
                item.end(is_held, "released", session)
            }
        }
    }
}

impl LeasedItem {
    async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let queue = self.target.open(session).await?;
        Ok(queue.with_session(&self.session))
    }

    fn end(self, is_held: bool, status: &'static str, session: &mut Session) -> Result<Exit> {
        let id = self.id;
        if is_held {
            return print_end(session, id, status);
        }
        let why = format!("this session does not hold item {id:?} any more; nothing changed");
        let help = "discard the result and lease again: another session may have the item";
        Err(CliError::from(Error::new(Code::LeaseLost, why, help)))
    }
}

fn print_end(session: &mut Session, id: String, status: &'static str) -> Result<Exit> {
    let line = format!("{id} {status}");
    print::reply(session, [("id", id.into()), (status, true.into())], line)
}

async fn add(
    queue: &WorkQueue,
    item: &Item,
    is_unique: bool,
    session: &mut Session,
) -> Result<Exit> {
    let is_added = if is_unique {
        queue.add_unique_item(item).await?;
        true
    } else {
        queue.add_item(item).await?
    };
    let id = &item.id;
    let fields = [("id", id.as_str().into()), ("added", is_added.into())];
    print::reply(session, fields, id)?;
    if !is_added {
        let remark = format!("item {id} already exists; nothing changed");
        session.output.note(&remark);
    }
    Ok(Exit::Ok)
}

/// Prints a leased item, or null. Data that is not UTF-8 is in a separate base64 field.
async fn print_leased(
    queue: &WorkQueue,
    item: Option<Item>,
    session: &mut Session,
) -> Result<Exit> {
    let Some(item) = item else {
        session.output.result(&(), |_| {});
        session.output.note("no item available");
        return Ok(Exit::Ok);
    };
    let data = content("data", "data_base64", &item.data);
    let shown = shown(&data);
    let reply = Object(vec![
        ("id", item.id.as_str().into()),
        data,
        ("session", queue.session().into()),
    ]);
    session.output.result(&reply, |output| {
        output.fields(vec![
            ("id", Some(item.id.clone())),
            ("session", Some(queue.session().to_owned())),
            ("data", Some(shown)),
        ]);
    });
    match session.output.undelivered() {
        Some(why) => Err(give_back(queue, &item, &why).await),
        None => Ok(Exit::Ok),
    }
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
