//! Takes tasks from shell scripts. The listener outlives the command and expires without heartbeats.

use std::time::Duration;

use clap::{Args, Subcommand};
use windlass::duration;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::session::Session;

use super::clean::CleanArguments;
use super::{Target, show};
use crate::blueque::{BluequeListener, BluequeQueue, CleanOptions, ListenerOptions, Task};
use crate::commands::print;

/// How long a script may work on a task without a heartbeat.
const ALIVE_DEFAULT: Duration = Duration::from_secs(300);

/// Commands of a listener.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take the next task
    #[command(
        after_help = "If the queue is empty, prints null and exits with 0. The field `node` of the task is the listener. It \
        stays alive for --alive; `heartbeat` extends that.\n\n\
        Example:\n  windlass interop blueque listen videos --wait 30s --json"
    )]
    Listen {
        /// Queue name
        queue: String,

        /// How long to wait if no task is available [default: do not wait]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        wait: Option<Duration>,

        #[command(flatten)]
        listener: ListenerArguments,

        #[command(flatten)]
        target: Target,
    },
    /// Claim a task of a dead listener
    #[command(after_help = "Claims started tasks only with --retry-lost.")]
    ClaimOrphan {
        /// Queue name
        queue: String,

        #[command(flatten)]
        listener: ListenerArguments,

        #[command(flatten)]
        clean: CleanArguments,

        #[command(flatten)]
        target: Target,
    },
    /// Send a heartbeat for a listener
    Heartbeat {
        /// Queue name
        queue: String,

        /// Listener name: the field `node` of a task it took
        listener: String,

        /// How long the listener stays alive from now [default: 5m]
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        alive: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
}

/// Name and lifetime of the listener.
#[derive(Debug, Args)]
pub(crate) struct ListenerArguments {
    /// Listener name of the form `HOST_PID`; must be unique [default: generated]
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,

    /// How long the listener stays alive without a heartbeat; then its tasks go to others [default: 5m]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    alive: Option<Duration>,
}

impl ListenerArguments {
    fn options(self) -> ListenerOptions {
        ListenerOptions {
            name: self.listener,
            alive: self.alive.unwrap_or(ALIVE_DEFAULT),
        }
    }
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Listen {
                queue,
                wait,
                listener,
                target,
            } => {
                let wait = wait.unwrap_or(Duration::ZERO);
                let options = listener.options();
                let is_named = options.name.is_some();
                let queue = target.queue(&queue, session).await?;
                let mut listener = queue.join(options).await?;
                let task = listener.listen(wait).await?;
                finish(&queue, listener, task.as_ref(), is_named, session).await
            }
            Self::ClaimOrphan {
                queue,
                listener,
                clean,
                target,
            } => {
                let clean = clean.options();
                let options = listener.options();
                let is_named = options.name.is_some();
                let queue = target.queue(&queue, session).await?;
                let mut listener = queue.join(options).await?;
                let task = listener.claim_orphan(&clean).await?;
                finish(&queue, listener, task.as_ref(), is_named, session).await
            }
            Self::Heartbeat {
                queue,
                listener,
                alive,
                target,
            } => {
                let alive = alive.unwrap_or(ALIVE_DEFAULT);
                let queue = target.queue(&queue, session).await?;
                queue.heartbeat(&listener, alive).await?;
                let line = format!("{listener} is alive");
                let alive = u64::try_from(alive.as_millis()).unwrap_or(u64::MAX);
                let fields = [("listener", listener.into()), ("alive_ms", alive.into())];
                print::reply(session, fields, line)
            }
        }
    }
}

/// Prints the task. Removes a new listener that got no task, and returns its task if that could not be
/// printed. A listener with a given name is kept, because it may hold other tasks.
async fn finish(
    queue: &BluequeQueue,
    listener: BluequeListener,
    task: Option<&Task>,
    is_named: bool,
    session: &mut Session,
) -> Result<Exit> {
    show::print_task(session, task);
    if is_named {
        return Ok(Exit::Ok);
    }
    if task.is_none() {
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
