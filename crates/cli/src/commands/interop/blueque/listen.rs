//! Taking tasks, for scripts: a listener that is alive for a while, with no process behind it.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass_interop::blueque::{CleanOptions, Listener, ListenerOptions, Queue};

use super::clean::Judging;
use super::place::Place;
use super::reply;
use crate::exit::{CliError, Exit, Result};
use crate::parse;
use crate::session::Session;

/// How long a script may take for a task without a word.
const ALIVE_DEFAULT: Duration = Duration::from_secs(300);

/// Who listens.
#[derive(Debug, Args)]
struct Who {
    /// The name of the listener, a host, `_` and a number, which nobody else may have [default: a new one]
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    /// How long it is alive without a word; then its tasks go to others [default: 5m]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing to take is no failure: null, exit 0. The listener is `node` of the task. It is alive for as \
    long as --alive says; `beat` makes that longer.\n\n\
    Example:\n  windlass interop blueque listen videos --wait 30s --json"
)]
pub(crate) struct Listen {
    /// The queue
    queue: String,

    /// How long to wait for a task where there is none
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    #[command(flatten)]
    who: Who,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Only tasks that were not started are taken over, unless --retry-lost says otherwise."
)]
pub(crate) struct ClaimOrphan {
    /// The queue
    queue: String,

    #[command(flatten)]
    who: Who,

    #[command(flatten)]
    judging: Judging,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Beat {
    /// The queue
    queue: String,

    /// The listener: `node` of a task it took
    listener: String,

    /// How long it is alive from now on [default: 5m]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct Beaten {
    listener: String,
    alive_ms: u64,
}

impl Who {
    fn options(self) -> Result<ListenerOptions> {
        let mut options = ListenerOptions::default();
        options.alive = parse::duration_or(self.alive.as_deref(), ALIVE_DEFAULT)?;
        options.name = self.listener;
        Ok(options)
    }
}

/// Takes the next task.
pub(crate) async fn listen(arguments: Listen, session: &mut Session) -> Result<Exit> {
    let wait = parse::duration_or(arguments.wait.as_deref(), Duration::ZERO)?;
    let options = arguments.who.options()?;
    let is_named = options.name.is_some();
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let mut listener = queue.join(options).await?;
    let task = listener.listen(wait).await?;
    reply::print(session, task.as_ref());
    settle(&queue, listener, task.is_some(), is_named, session).await
}

/// Takes over a task.
pub(crate) async fn claim_orphan(arguments: ClaimOrphan, session: &mut Session) -> Result<Exit> {
    let judging = arguments.judging.options()?;
    let options = arguments.who.options()?;
    let is_named = options.name.is_some();
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let mut listener = queue.join(options).await?;
    let task = listener.claim_orphan(&judging).await?;
    reply::print(session, task.as_ref());
    settle(&queue, listener, task.is_some(), is_named, session).await
}

/// A new listener that got nothing is of no use to anybody, and a task that nobody heard of goes
/// back. One with a name may hold other tasks: it is left as it is.
async fn settle(
    queue: &Queue,
    listener: Listener,
    has_task: bool,
    is_named: bool,
    session: &Session,
) -> Result<Exit> {
    if is_named {
        return Ok(Exit::Ok);
    }
    if !has_task {
        listener.leave().await?;
        return Ok(Exit::Ok);
    }
    let Some(why) = session.output.undelivered() else {
        return Ok(Exit::Ok);
    };
    let mut options = CleanOptions::default();
    options.lost.push(listener.name().to_owned());
    options.retry_lost = true;
    queue.clean(&options).await?;
    Err(CliError::unwritable(&why))
}

/// Gives a sign of life.
pub(crate) async fn beat(arguments: Beat, session: &mut Session) -> Result<Exit> {
    let alive = parse::duration_or(arguments.alive.as_deref(), ALIVE_DEFAULT)?;
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    queue.beat(&arguments.listener, alive).await?;
    let reply = Beaten {
        listener: arguments.listener,
        alive_ms: u64::try_from(alive.as_millis()).unwrap_or(u64::MAX),
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} is alive", reply.listener));
    });
    Ok(Exit::Ok)
}
