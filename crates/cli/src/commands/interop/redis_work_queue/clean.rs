//! Brings back what is abandoned, once or as a cleaning process.

use clap::Args;
use serde::Serialize;
use windlass_interop::redis_work_queue::{Cleaned, WorkQueue};

use super::place::Place;
use crate::commands::repeat::{self, AuditSchedule, Repeat};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::parse;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "An item without a lease is looked at twice, with the grace between, because a client of the original \
    may be just taking it.\n\n\
    Examples:\n  \
    windlass interop redis-work-queue clean --deep --prefix sums --layout 0.1\n  \
    windlass interop redis-work-queue clean --every 30s --deep-every 1h --prefix sums --layout 0.1"
)]
pub(crate) struct Arguments {
    /// Look for items that are in no list as well, among all keys of the database
    #[arg(long)]
    deep: bool,

    /// Go on until told to stop, with this long between two cleans: about the shortest lease in use
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    /// With --every: how long between two deep cleans
    #[arg(long, value_name = "D", requires = "every", allow_hyphen_values = true)]
    deep_every: Option<String>,

    /// How long an item may be out of place before it is moved [default: 2s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    grace: Option<String>,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct Reply {
    requeued: u64,
    held: u64,
    removed: u64,
    pending: u64,
    deep: bool,
}

/// Cleans and prints what was done, once or until a signal ends it well.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let deep = AuditSchedule::parse(
        "--deep-every",
        arguments.deep,
        arguments.deep_every.as_deref(),
    )?;
    let grace = parse::duration(arguments.grace.as_deref())?;
    let mut queue = arguments.place.open(session).await?;
    if let Some(grace) = grace {
        queue = queue.with_grace(grace);
    }
    let rounds = Repeat::until_signal(every, session)?;
    let work = |is_deep| clean(&queue, is_deep);
    rounds
        .maintain(deep, &mut session.output, work, print)
        .await
}

async fn clean(queue: &WorkQueue, is_deep: bool) -> windlass::Result<Reply> {
    let cleaned: Cleaned = if is_deep {
        queue.deep_clean().await?
    } else {
        queue.light_clean().await?
    };
    Ok(Reply {
        requeued: cleaned.requeued,
        held: cleaned.held,
        removed: cleaned.removed,
        pending: cleaned.pending,
        deep: is_deep,
    })
}

fn print(output: &mut Output, reply: &Reply) {
    output.result(reply, |output| {
        output.line(&format!(
            "{} requeued, {} held, {} removed, {} pending",
            reply.requeued, reply.held, reply.removed, reply.pending
        ));
    });
}
