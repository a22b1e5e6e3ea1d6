//! Takes tasks from shell scripts. The listener outlives the command and expires without heartbeats.

use std::time::Duration;

use crate::blueque::{BluequeListener, BluequeQueue, CleanOptions, ListenerOptions};
use clap::Args;
use serde::Serialize;

use super::clean::CleanArguments;
use super::reply;
use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// How long a script may work on a task without a heartbeat.
const ALIVE_DEFAULT: Duration = Duration::from_secs(300);

/// Name and lifetime of the listener.
#[derive(Debug, Args)]
struct ListenerArguments {
    /// Listener name of the form `HOST_PID`; must be unique [default: generated]
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    /// How long the listener stays alive without a heartbeat; then its tasks go to others [default: 5m]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,
}

/// Arguments of `listen`.
#[derive(Debug, Args)]
#[command(
    after_help = "If the queue is empty, prints null and exits with 0. The field `node` of the task is the listener. It \
    stays alive for --alive; `heartbeat` extends that.\n\n\
    Example:\n  windlass interop blueque listen videos --wait 30s --json"
)]
pub(crate) struct Listen {
    /// Queue name
    queue: String,

    /// How long to wait if no task is available [default: do not wait]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    wait: Option<String>,

    #[command(flatten)]
    listener: ListenerArguments,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `claim-orphan`.
#[derive(Debug, Args)]
#[command(after_help = "Claims started tasks only with --retry-lost.")]
pub(crate) struct ClaimOrphan {
    /// Queue name
    queue: String,

    #[command(flatten)]
    listener: ListenerArguments,

    #[command(flatten)]
    clean: CleanArguments,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `heartbeat`.
#[derive(Debug, Args)]
pub(crate) struct Heartbeat {
    /// Queue name
    queue: String,

    /// Listener name: the field `node` of a task it took
    listener: String,

    /// How long the listener stays alive from now [default: 5m]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    alive: Option<String>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct HeartbeatReply {
    listener: String,
    alive_ms: u64,
}

impl ListenerArguments {
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
    let options = arguments.listener.options()?;
    let is_named = options.name.is_some();
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let mut listener = queue.join(options).await?;
    let task = listener.listen(wait).await?;
    reply::print(session, task.as_ref());
    finish(&queue, listener, task.is_some(), is_named, session).await
}

/// Claims a task of a dead listener.
pub(crate) async fn claim_orphan(arguments: ClaimOrphan, session: &mut Session) -> Result<Exit> {
    let clean = arguments.clean.options()?;
    let options = arguments.listener.options()?;
    let is_named = options.name.is_some();
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let mut listener = queue.join(options).await?;
    let task = listener.claim_orphan(&clean).await?;
    reply::print(session, task.as_ref());
    finish(&queue, listener, task.is_some(), is_named, session).await
}

/// Removes a new listener that got no task, and returns its task if that could not be printed. A listener
/// with a given name is kept, because it may hold other tasks.
async fn finish(
    queue: &BluequeQueue,
    listener: BluequeListener,
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

/// Sends a heartbeat.
pub(crate) async fn heartbeat(arguments: Heartbeat, session: &mut Session) -> Result<Exit> {
    let alive = parse::duration_or(arguments.alive.as_deref(), ALIVE_DEFAULT)?;
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    queue.heartbeat(&arguments.listener, alive).await?;
    let reply = HeartbeatReply {
        listener: arguments.listener,
        alive_ms: u64::try_from(alive.as_millis()).unwrap_or(u64::MAX),
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{} is alive", reply.listener));
    });
    Ok(Exit::Ok)
}
