//! `windlass worker`: runs jobs in long-lived processes that speak JSON lines.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use windlass::duration;
use windlass_exec::resident::WRITE_TIMEOUT_DEFAULT;
use windlass_exec::{Resident, ResidentOptions, Starter, Template, program};
use windlass_worker::GRACE_DEFAULT;

use super::exec::child;
use super::exec::worker_args::{self, WorkerArgs};
use super::hint;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

/// Extra time after `--kill-after` for a process to exit, to be reaped, and for its pipes to drain.
const REAP_TIMEOUT: Duration = Duration::from_secs(3);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    override_usage = "windlass worker [OPTIONS] <QUEUE> <CMD>...\n       \
    windlass worker [OPTIONS] --queue <Q> [--queue <Q>...] -- <CMD>...",
    after_help = "A process reads lines like {\"type\":\"job\",\"id\":…,\"token\":…,\"payload\":…} from stdin and \
    replies with {\"type\":\"done\",\"id\":…,\"token\":…,\"result\":…} or \"type\":\"fail\" with an \
    \"error\". Other output is logged. See docs/programs.md for the protocol.\n\n\
    Example:\n  windlass worker mail --procs 2 -j 10 python3 mailer.py"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    /// Speak JSON lines on stdin and stdout; the default, and the only protocol
    #[arg(long)]
    stdio: bool,

    /// Number of processes; -j applies to each
    #[arg(long, value_name = "N", default_value_t = 1)]
    procs: usize,

    /// Treat output that is not a protocol message as a failure
    #[arg(long)]
    strict: bool,

    /// How long a process may leave stdin unread before it counts as stuck [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    write_timeout: Option<Duration>,
}

/// Runs jobs until it is stopped or, with `--burst`, until the queues are drained.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let args = &arguments.worker;
    let command = Template::without_placeholders(&args.command)?;
    let environment = args.run_args.environment.select()?;
    program::find(command.program(), &environment)
        .map_err(|error| CliError::misconfigured(&error))?;
    let grace = args.run_args.grace.unwrap_or(GRACE_DEFAULT);
    let kill_after = args.run_args.kill_after;
    let mut worker = args.options()?;
    worker.concurrency = args.run_args.jobs.saturating_mul(arguments.procs);
    worker.check()?;
    worker.stop_wait = kill_after + REAP_TIMEOUT;
    let mut signals = Signals::listen()?;
    args.serve_metrics(session).await?;
    let Some(stores) = args.stores(session, &mut signals).await? else {
        return Ok(Exit::Ok);
    };
    hint::note_unused(stores.store().as_ref(), &args.queues(), session).await;
    let resident = Resident::start(ResidentOptions {
        command,
        starter: Starter::new(child::launch(), environment, worker_args::log_sink())?,
        processes: arguments.procs,
        concurrency: args.run_args.jobs,
        is_strict: arguments.strict,
        kill_after,
        write_timeout: arguments.write_timeout.unwrap_or(WRITE_TIMEOUT_DEFAULT),
        store: Arc::clone(stores.store()),
        queues: args.queues(),
    });
    let drain = || resident.drain(grace);
    let handler = Arc::new(resident.clone());
    let summary = worker_args::run(stores, worker, handler, &mut signals, drain).await;
    resident.close().await;
    worker_args::print(session, &summary?);
    Ok(Exit::Ok)
}
