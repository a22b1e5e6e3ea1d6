//! What the leader of the original does: moves due jobs, and returns jobs of dead workers.

use crate::delayed_queue::{RescueReport, UNACKED_FOR};
use clap::Args;
use serde::Serialize;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

/// Arguments of `due`.
#[derive(Debug, Args)]
pub(crate) struct Due {
    /// Run until stopped, with this interval between checks
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

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
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    /// How long a job may be unacknowledged; longer than original workers run a job [default: 10s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    unacked_for: Option<String>,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Default, Serialize)]
struct DueReply {
    moved: u64,
}

#[derive(Debug, Default, Serialize)]
struct MonitorReply {
    returned: u64,
    removed: u64,
    unacked: u64,
}

impl MonitorReply {
    fn add(&mut self, report: RescueReport) {
        self.returned += report.returned;
        self.removed += report.removed;
        // Only of the last check.
        self.unacked = report.unacked;
    }
}

/// Moves due jobs.
pub(crate) async fn due(arguments: Due, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let queue = arguments.target.open(session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = DueReply::default();
    let work = || queue.move_due();
    let output = &mut session.output;
    rounds
        .each(output, work, |moved| reply.moved += moved)
        .await?;
    session.output.result(&reply, |output| {
        output.line(&format!("{} jobs moved", reply.moved));
    });
    Ok(Exit::Ok)
}

/// Returns jobs of dead workers.
pub(crate) async fn monitor(arguments: Monitor, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let unacked_for = parse::duration_or(arguments.unacked_for.as_deref(), UNACKED_FOR)?;
    let queue = arguments.target.open(session).await?;
    let queue = queue.with_unacked_for(unacked_for);
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = MonitorReply::default();
    let work = || async {
        if every.is_some() {
            queue.rescue().await
        } else {
            queue.rescue_all().await
        }
    };
    let output = &mut session.output;
    rounds
        .each(output, work, |report| reply.add(report))
        .await?;
    session.output.result(&reply, |output| {
        output.line(&format!(
            "{} returned, {} removed, {} unacknowledged",
            reply.returned, reply.removed, reply.unacked
        ));
    });
    Ok(Exit::Ok)
}
