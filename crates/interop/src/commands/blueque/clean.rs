//! Cleans up after dead listeners, once or periodically.

use std::time::Duration;

use clap::Args;
use windlass::duration;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::repeat::{self, Repeat};
use windlass_terminal::session::Session;

use super::Target;
use crate::blueque::{BluequeCleanReport, CleanOptions};
use crate::commands::print;

/// Which listeners count as dead.
#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Return started tasks to the front of the queue instead of failing them with `worker_lost`
    #[arg(long)]
    pub(super) retry_lost: bool,

    /// Listener known to be dead, on any machine; can be repeated
    #[arg(long, value_name = "LISTENER")]
    lost: Vec<String>,

    /// Treat tasks of original Blueque clients on other machines as lost after this long without activity; must be
    /// longer than the longest task
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    silence: Option<Duration>,

    /// Additional host name that original Blueque clients on this machine use; can be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Do not check pids, because original clients with this host name run elsewhere, for example in containers
    #[arg(long)]
    ignore_pids: bool,

    /// How long a task that an original client may be claiming must stay unchanged [default: 2s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    settle: Option<Duration>,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
#[command(
    after_help = "Windlass listeners are dead if they sent no heartbeat in time, on any machine. Original clients \
    on this machine are dead if their process is gone, on other machines only by --lost or --silence.\n\n\
    Examples:\n  \
    windlass interop blueque clean videos --retry-lost\n  \
    windlass interop blueque clean videos --every 30s"
)]
pub(crate) struct Arguments {
    /// Queue name
    queue: String,

    /// Run until stopped, with this interval between cleans
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    every: Option<Duration>,

    #[command(flatten)]
    options: CleanArguments,

    #[command(flatten)]
    target: Target,
}

impl CleanArguments {
    pub(super) fn options(self) -> CleanOptions {
        let mut options = CleanOptions::default();
        options.retry_lost = self.retry_lost;
        options.lost = self.lost;
        options.silence = self.silence;
        options.hosts = self.host;
        options.ignores_pids = self.ignore_pids;
        options.settle = self.settle.unwrap_or(options.settle);
        options
    }
}

/// Cleans and prints a summary.
pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = repeat::check_interval("--every", arguments.every)?;
    let options = arguments.options.options();
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut total = BluequeCleanReport::default();
    let work = || queue.clean(&options);
    rounds.each(work, |done| total.add(done)).await?;
    let line = format!(
        "{} requeued, {} failed, {} stale entries removed, {} listeners lost",
        total.requeued, total.failed, total.stale, total.listeners
    );
    print::value(session, &total, line)
}
