//! Brings back what dead listeners held, once or as a cleaning process.

use clap::Args;
use serde::Serialize;
use windlass_interop::blueque::{CleanOptions, Cleaned};

use super::place::Place;
use crate::commands::repeat::{self, Repeat};
use crate::exit::{Exit, Result};
use crate::parse;
use crate::session::Session;

/// Who counts as dead.
#[derive(Debug, Args)]
pub(super) struct Judging {
    /// Tasks that were started go to the front again; otherwise they fail with `worker_lost`
    #[arg(long)]
    pub(super) retry_lost: bool,

    /// A listener that is known to be dead, on whatever machine; may be given several times
    #[arg(long, value_name = "LISTENER")]
    lost: Vec<String>,

    /// Tasks of originals on other machines are lost when silent for so long: longer than the longest task
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    silence: Option<String>,

    /// A further name by which originals call this machine; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Originals of this host name run elsewhere: do not judge them by the number of their process
    #[arg(long)]
    ignore_pids: bool,

    /// How long nothing may happen to a task that an original may be claiming [default: 2s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    settle: Option<String>,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Listeners of Windlass are dead when they gave no sign of life in time, on any machine. Originals of \
    this machine are dead when their process is gone; of other machines only --lost and --silence tell.\n\n\
    Examples:\n  \
    windlass interop blueque clean videos --retry-lost\n  \
    windlass interop blueque clean videos --every 30s"
)]
pub(crate) struct Arguments {
    /// The queue
    queue: String,

    /// Go on until told to stop, with this long between two cleans
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    every: Option<String>,

    #[command(flatten)]
    judging: Judging,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Default, Serialize)]
struct Reply {
    requeued: u64,
    failed: u64,
    stale: u64,
    listeners: u64,
    recounted: bool,
}

impl Judging {
    pub(super) fn options(self) -> Result<CleanOptions> {
        let mut options = CleanOptions::default();
        options.retry_lost = self.retry_lost;
        options.lost = self.lost;
        options.silence = parse::duration(self.silence.as_deref())?;
        options.hosts = self.host;
        options.ignores_pids = self.ignore_pids;
        options.settle = parse::duration_or(self.settle.as_deref(), options.settle)?;
        Ok(options)
    }
}

impl Reply {
    fn add(&mut self, cleaned: Cleaned) {
        self.requeued += cleaned.requeued;
        self.failed += cleaned.failed;
        self.stale += cleaned.stale;
        self.listeners += cleaned.listeners;
        self.recounted |= cleaned.is_recounted;
    }
}

/// Cleans and prints what was done.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let every = repeat::parse_interval("--every", arguments.every.as_deref())?;
    let options = arguments.judging.options()?;
    let queue = arguments.place.queue(&arguments.queue, session).await?;
    let rounds = Repeat::until_signal(every, session)?;
    let mut reply = Reply::default();
    let work = || queue.clean(&options);
    let output = &mut session.output;
    rounds.each(output, work, |done| reply.add(done)).await?;
    session.output.result(&reply, |output| {
        output.line(&format!(
            "{} requeued, {} failed, {} traces removed, {} listeners lost",
            reply.requeued, reply.failed, reply.stale, reply.listeners
        ));
    });
    Ok(Exit::Ok)
}
