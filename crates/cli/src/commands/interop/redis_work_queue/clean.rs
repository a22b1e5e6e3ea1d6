//! Brings back what is abandoned, once or as a cleaning process.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;
use windlass::{Error, duration};
use windlass_api::Problem;
use windlass_interop::redis_work_queue::{Cleaned, WorkQueue};

use super::place::Place;
use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;

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

/// Cleans and prints what was done.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = pause(arguments.every.as_deref())?;
    let deep_every = pause(arguments.deep_every.as_deref())?;
    let grace = arguments
        .grace
        .as_deref()
        .map(duration::parse)
        .transpose()?;
    let mut queue = arguments.place.open(session).await?;
    if let Some(grace) = grace {
        queue = queue.with_grace(grace);
    }
    let Some(every) = every else {
        let reply = clean(&queue, arguments.deep).await?;
        print(&mut session.output, &reply);
        return Ok(Exit::Ok);
    };
    let deep_every = deep_every.or(arguments.deep.then_some(every));
    keep_cleaning(&queue, every, deep_every, session).await
}

/// How long between two cleans.
fn pause(text: Option<&str>) -> Result<Option<Duration>> {
    let pause = text.map(duration::parse).transpose()?;
    if pause.is_some_and(|pause| pause.is_zero()) {
        let help = "leave some time between two cleans, for example 30s";
        return Err(Error::invalid("duration", "it is zero", help).into());
    }
    Ok(pause)
}

/// Cleans until a signal ends it well; a server that is away for a while does not.
async fn keep_cleaning(
    queue: &WorkQueue,
    every: Duration,
    deep_every: Option<Duration>,
    session: &mut Session,
) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    session.clearing.take_over();
    let mut last_deep: Option<Instant> = None;
    loop {
        let is_deep =
            deep_every.is_some_and(|every| last_deep.is_none_or(|last| last.elapsed() >= every));
        let cleaned = tokio::select! {
            cleaned = clean(queue, is_deep) => cleaned,
            () = signals.next() => return Ok(Exit::Ok),
        };
        match cleaned {
            Ok(reply) => {
                if is_deep {
                    last_deep = Some(Instant::now());
                }
                print(&mut session.output, &reply);
            }
            Err(error) if error.is_transient() => session.output.problem(&Problem::from(&error)),
            Err(error) => return Err(Failure::from(error)),
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = signals.next() => return Ok(Exit::Ok),
        }
    }
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
