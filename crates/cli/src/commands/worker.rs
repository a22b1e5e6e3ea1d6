//! `windlass worker`: resident processes as workers, which speak JSON lines.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use windlass_exec::resident::WRITE_TIMEOUT_DEFAULT;
use windlass_exec::{Environment, Resident, ResidentOptions, Template};
use windlass_worker::GRACE_DEFAULT;

use super::exec::child;
use super::exec::work::{self, Work};
use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::typed;

/// How long a stopping job has beyond `--kill-after`: for its process to end, to be reaped, and its
/// pipes to be read out.
const REAPING: Duration = Duration::from_secs(3);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "A process reads lines like {\"type\":\"job\",\"id\":…,\"token\":…,\"payload\":…} and \
    answers each with {\"type\":\"done\",\"id\":…,\"token\":…,\"result\":…} or \"type\":\"fail\" with an \
    \"error\". Other lines on its output are logged. docs/programs.md has all of them.\n\n\
    Example:\n  windlass worker --queue mail --stdio --procs 2 -j 10 -- python3 mailer.py"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: Work,

    /// Speak JSON lines on standard input and output
    #[arg(long, required = true)]
    stdio: bool,

    /// How many processes there are; -j is for each of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    procs: usize,

    /// A line that is none of the protocol's is a failure
    #[arg(long)]
    strict: bool,

    /// How long a process may take to read before it counts as stuck [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    write_timeout: Option<String>,
}

/// Works until it is stopped or, with --burst, until nothing is left.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let Arguments { work, .. } = &arguments;
    let command = Template::plain(work.command.clone())?;
    let environment = Environment::new(&work.pace.env)?;
    let write_timeout =
        typed::duration_or(arguments.write_timeout.as_deref(), WRITE_TIMEOUT_DEFAULT)?;
    let grace = work.pace.grace()?.unwrap_or(GRACE_DEFAULT);
    let kill_after = work.pace.kill_after()?;
    let mut worker = work.options()?;
    worker.concurrency = work.pace.jobs.saturating_mul(arguments.procs);
    worker.check()?;
    worker.stop_wait = kill_after + REAPING;
    let queues = work.queues()?;
    let (store, stores) = work::stores(session).await?;
    let resident = Resident::start(ResidentOptions {
        command,
        launch: child::launch(),
        environment,
        processes: arguments.procs,
        concurrency: work.pace.jobs,
        is_strict: arguments.strict,
        kill_after,
        write_timeout,
        store,
        queues,
        talk: work::talk(session),
    })?;
    let drain = || resident.drain(grace);
    let mut signals = session.signals()?;
    let handler = Arc::new(resident.clone());
    let summary = work::run(stores, worker, handler, &mut signals, drain).await;
    resident.close().await;
    work::print(session, &summary?);
    Ok(Exit::Ok)
}
