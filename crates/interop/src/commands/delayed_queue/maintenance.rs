//! What the leader of the original does: moves due jobs, and returns jobs of dead workers.

use std::time::Duration;

use clap::Args;
use windlass::duration;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

use super::Target;
use crate::commands::print;
use crate::delayed_queue::{RescueReport, UNACKED_FOR};

/// Arguments of `due`.
#[derive(Debug, Args)]
pub(crate) struct Due {
    /// Run until stopped, with this interval between checks
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    every: Option<Duration>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `monitor`.
#[derive(Debug, Args)]
#[command(
    after_help = "The time is counted from when a monitor first sees the job, so clocks do not matter. Without --every, \
    the command waits for that time if there are unacknowledged jobs.\n\n\
    Example:\n  windlass interop delayed-queue monitor --every 1s"
)]
pub(crate) struct Monitor {
    /// Run until stopped, with this interval between checks
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    every: Option<Duration>,

    /// How long a job may be unacknowledged; longer than original workers run a job [default: 10s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    unacked_for: Option<Duration>,

    #[command(flatten)]
    target: Target,
}

/// Moves due jobs.
pub(super) async fn due(arguments: Due, session: &mut Session) -> Result<Exit> {
    let every = repeat::check_interval("--every", arguments.every)?;
    let queue = arguments.target.open(session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut moved = 0;
    let work = || queue.move_due();
    rounds.each(work, |done| moved += done).await?;
    let line = format!("{moved} jobs moved");
    print::reply(session, [("moved", moved.into())], line)
}

/// Returns jobs of dead workers.
pub(super) async fn monitor(arguments: Monitor, session: &mut Session) -> Result<Exit> {
    let every = repeat::check_interval("--every", arguments.every)?;
    let unacked_for = arguments.unacked_for.unwrap_or(UNACKED_FOR);
    let queue = arguments.target.open(session).await?;
    let queue = queue.with_unacked_for(unacked_for);
    let rounds = Repeat::until_signal(every, session)?;
    let mut total = RescueReport::default();
    let work = || async {
        if every.is_some() {
            queue.rescue().await
        } else {
            queue.rescue_all().await
        }
    };
    let add = |report: RescueReport| {
        total.returned += report.returned;
        total.removed += report.removed;
        // Only of the last check.
        total.unacked = report.unacked;
    };
    rounds.each(work, add).await?;
    let line = format!(
        "{} returned, {} removed, {} unacknowledged",
        total.returned, total.removed, total.unacked
    );
    print::value(session, &total, line)
}
