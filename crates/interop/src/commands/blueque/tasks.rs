//! Enqueues and schedules tasks.

use std::ffi::OsString;
use std::time::Duration;

use clap::Subcommand;
use windlass::duration;
use windlass::store::{Clock, SystemClock};
use windlass_api::timestamp;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print;

/// Commands that add tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add a task to the end of a queue
    Enqueue {
        /// Queue name
        queue: String,

        /// Parameters; `-` reads stdin
        #[arg(allow_hyphen_values = true)]
        parameters: OsString,

        #[command(flatten)]
        target: Target,
    },
    /// Schedule a task
    #[command(group(clap::ArgGroup::new("when").required(true)))]
    Schedule {
        /// Queue name
        queue: String,

        /// Parameters; `-` reads stdin
        #[arg(allow_hyphen_values = true)]
        parameters: OsString,

        /// Due time: RFC 3339, or seconds since 1970
        #[arg(long, value_name = "T", group = "when", allow_hyphen_values = true)]
        at: Option<String>,

        /// Delay from now
        #[arg(long, value_name = "D", group = "when")]
        #[arg(allow_hyphen_values = true, value_parser = duration::parse)]
        delay: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
    /// Move due delayed tasks to the end of the queue
    Due {
        /// Queue name
        queue: String,

        /// Run until stopped, with this interval between checks
        #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
        every: Option<Duration>,

        #[command(flatten)]
        target: Target,
    },
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Enqueue {
                queue,
                parameters,
                target,
            } => {
                let parameters = bytes_or_stdin(parameters)?;
                let id = target.queue(&queue, session).await?;
                let id = id.enqueue(parameters).await?;
                added(session, &queue, &id, "pending")
            }
            Self::Schedule {
                queue,
                parameters,
                at,
                delay,
                target,
            } => {
                let eta = if let Some(at) = at {
                    Duration::from_millis(timestamp::parse(&at)?.as_ms())
                } else {
                    let delay = delay.unwrap_or_default();
                    Duration::from_micros(SystemClock.now_us()) + delay
                };
                let parameters = bytes_or_stdin(parameters)?;
                let scheduled = target.queue(&queue, session).await?;
                let scheduled = scheduled.schedule(parameters, eta.as_secs_f64()).await?;
                added(session, &queue, &scheduled.0, &scheduled.1)
            }
            Self::Due {
                queue,
                every,
                target,
            } => {
                let every = repeat::check_interval("--every", every)?;
                let queue = target.queue(&queue, session).await?;
                let rounds = Repeat::until_signal(every, session)?;
                let mut moved = 0;
                let work = || queue.enqueue_due_tasks();
                rounds.each(work, |done| moved += done).await?;
                let line = format!("{moved} tasks moved to the queue");
                print::reply(session, [("moved", moved.into())], line)
            }
        }
    }
}

fn added(session: &mut Session, queue: &str, id: &str, status: &str) -> Result<Exit> {
    let fields = [
        ("id", id.into()),
        ("queue", queue.into()),
        ("status", status.into()),
    ];
    print::reply(session, fields, id)
}
