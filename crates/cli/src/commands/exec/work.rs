//! What `exec`, `worker` and `up` have in common: the flags of a worker, its signals and its summary.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use windlass::{Existing, QueueName, Store};
use windlass_exec::{Talk, exec::KILL_AFTER_DEFAULT};
use windlass_worker::{Handle, Options, Runtime, Source, Stopper, Stores, Summary};

use crate::exit::{Failure, Result};
use crate::session::Session;
use crate::signals::Signals;
use crate::typed;

/// How long a name of a worker is at most.
const NAME_CHARS_MAX: usize = 30;

/// The flags of a worker and what it works on.
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// A queue to take jobs from; may be given several times
    #[arg(long, value_name = "Q", required = true)]
    pub(crate) queue: Vec<String>,

    #[command(flatten)]
    pub(crate) pace: Pace,

    /// End when the queues are drained: nothing ready, scheduled or running
    #[arg(long)]
    burst: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// How a worker runs its jobs; `up` has the same flags.
#[derive(Debug, Args)]
pub(crate) struct Pace {
    /// How many jobs run at once
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = 1)]
    #[arg(requires = "command")]
    pub(crate) jobs: usize,

    /// How long jobs are held without a renewal, which the worker sends by itself [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command")]
    lease: Option<String>,

    /// How long an attempt may take where the job does not say
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command")]
    timeout: Option<String>,

    /// How long jobs may run on once the worker was asked to stop [default: 25s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command")]
    grace: Option<String>,

    /// How long after SIGTERM a process is killed [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command")]
    kill_after: Option<String>,

    /// A variable to pass on, or to set: NAME or NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) env: Vec<String>,
}

impl Work {
    pub(crate) fn queues(&self) -> Result<Vec<QueueName>> {
        queues(&self.queue)
    }

    /// The options of the runtime, checked.
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = self.pace.options(self.queues()?, &self.command)?;
        options.is_burst = self.burst;
        options.check()?;
        Ok(options)
    }
}

impl Pace {
    pub(crate) fn kill_after(&self) -> Result<Duration> {
        typed::duration_or(self.kill_after.as_deref(), KILL_AFTER_DEFAULT)
    }

    pub(crate) fn grace(&self) -> Result<Option<Duration>> {
        typed::duration(self.grace.as_deref())
    }

    fn timeout(&self) -> Result<Option<Duration>> {
        let timeout = typed::duration(self.timeout.as_deref())?;
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Failure::usage(
                "--timeout is zero, so every attempt would end before it began",
                "write --timeout 1ms or more, or leave it out for no limit",
            ));
        }
        Ok(timeout)
    }

    /// The options of the runtime as far as the flags say.
    pub(crate) fn options(&self, queues: Vec<QueueName>, command: &[OsString]) -> Result<Options> {
        let mut options = Options::new(queues.into_iter().map(Source::new));
        options.name = name(command);
        options.concurrency = self.jobs;
        options.timeout = self.timeout()?;
        options.lease = typed::duration_or(self.lease.as_deref(), options.lease)?;
        options.grace = self.grace()?.unwrap_or(options.grace);
        Ok(options)
    }
}

/// The queues that were named.
pub(crate) fn queues(names: &[String]) -> Result<Vec<QueueName>> {
    let queues = names.iter().map(QueueName::new);
    Ok(queues.collect::<windlass::Result<_>>()?)
}

/// A worker is called after its program.
fn name(command: &[OsString]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    let name = program.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plain = name.chars().filter(|c| !c.is_control());
    let name: String = plain.take(NAME_CHARS_MAX).collect();
    if name.is_empty() {
        "program".to_owned()
    } else {
        name
    }
}

/// Remarks of the worker, on standard error.
pub(crate) fn talk(session: &Session) -> Talk {
    let output = session.output.clone();
    Arc::new(move |text| output.clone().talk(text))
}

/// The store, made where it is not there: a worker may be started before the first job.
pub(crate) async fn stores(session: &Session) -> Result<(Arc<dyn Store>, Stores)> {
    let url = session.lasting_store()?;
    let stores = windlass::open_stores(&url, Existing::OrCreate).await?;
    Ok((Arc::clone(stores.store()), stores))
}

/// Runs a worker to its end. The first signal lets jobs finish, the second does not; `stopping` is
/// called at the first.
pub(crate) async fn run(
    stores: Stores,
    options: Options,
    handler: Arc<dyn Handle>,
    signals: &mut Signals,
    stopping: impl Fn(),
) -> Result<Summary> {
    let runtime = Runtime::new(stores, options, handler)?;
    let stopper = runtime.stopper();
    tokio::select! {
        summary = runtime.run() => Ok(summary?),
        never = obey(&stopper, signals, stopping) => match never {},
    }
}

async fn obey(
    stopper: &Stopper,
    signals: &mut Signals,
    stopping: impl Fn(),
) -> std::convert::Infallible {
    signals.next().await;
    stopping();
    stopper.stop();
    loop {
        signals.next().await;
        stopper.stop_now();
    }
}

/// What became of the jobs.
#[derive(Debug, Serialize)]
struct Reply {
    succeeded: u64,
    failed: u64,
    dead: u64,
    released: u64,
    snoozed: u64,
    cancelled: u64,
    lost: u64,
}

pub(crate) fn print(session: &mut Session, summary: &Summary) {
    let reply = Reply {
        succeeded: summary.succeeded,
        failed: summary.failed,
        dead: summary.dead,
        released: summary.released,
        snoozed: summary.snoozed,
        cancelled: summary.cancelled,
        lost: summary.lost,
    };
    session.output.result(&reply, |output| {
        let figures = [
            ("succeeded", reply.succeeded),
            ("failed and will run again", reply.failed),
            ("dead", reply.dead),
            ("released", reply.released),
            ("snoozed", reply.snoozed),
            ("cancelled", reply.cancelled),
            ("lost", reply.lost),
        ];
        let said = figures.iter().filter(|(_, count)| *count > 0);
        let said: Vec<_> = said
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        output.line(&if said.is_empty() {
            "no jobs".to_owned()
        } else {
            said.join(", ")
        });
    });
}
