//! `windlass exec`: runs a command for each job, one process per job.

pub(crate) mod child;
pub(crate) mod program_args;
pub(crate) mod worker_args;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use windlass_exec::Exec;
use windlass_worker::{Connections, Options, Summary};

use super::hint;
use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

use program_args::ProgramArgs;
use worker_args::WorkerArgs;

/// Extra time after `--kill-after` to reap a process and drain its pipes.
pub(crate) const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    override_usage = "windlass exec [OPTIONS] <QUEUE> <CMD>...\n       \
    windlass exec [OPTIONS] --queue <Q> [--queue <Q>...] -- <CMD>...",
    after_help = "Options after CMD belong to CMD.\n\n\
    Exit status of CMD:\n  \
    0             success; its stdout is the result\n  \
    64-74, 76-78  permanent failure\n  \
    126, 127      the program cannot be run\n  \
    75, other     failed attempt, retried\n\n\
    Placeholders in arguments: {id} {kind} {queue} {attempt} {payload} {payload.a.b} {kind:-default}\n\n\
    Environment of CMD: WINDLASS_JOB_ID, _QUEUE, _KIND, _GROUP, _ATTEMPT, _MAX_ATTEMPTS, _TOKEN and _DEADLINE. \
    To report progress, write lines like {\"progress\":0.4,\"message\":\"…\"} to file descriptor 3.\n\n\
    Examples:\n  \
    windlass exec mail -j 4 sendmail -t\n  \
    windlass exec images --burst ./resize {payload.file}"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) worker: WorkerArgs,

    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs jobs until it is stopped or, with `--burst`, until the queues are drained.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let WorkerArgs {
        run_args, command, ..
    } = &arguments.worker;
    let options = arguments.program.options(run_args, command)?;
    let mut worker = arguments.worker.options()?;
    worker.stop_wait = options.kill_after + REAP_TIMEOUT;
    let mut signals = Signals::listen()?;
    arguments.worker.serve_metrics(session).await?;
    let Some(stores) = arguments.worker.stores(session, &mut signals).await? else {
        return Ok(Exit::Ok);
    };
    hint::note_unused(stores.store().as_ref(), &arguments.worker.queues(), session).await;
    let exec = Exec::new(options);
    let summary = run_worker(&exec, stores, worker, &mut signals, || {}).await?;
    worker_args::print(session, &summary);
    Ok(Exit::Ok)
}

/// Runs a worker until it is stopped and all its processes have exited.
pub(crate) async fn run_worker(
    exec: &Exec,
    stores: Connections,
    options: Options,
    signals: &mut Signals,
    on_stop: impl Fn(),
) -> Result<Summary> {
    let summary = worker_args::run(stores, options, Arc::new(exec.clone()), signals, on_stop).await;
    // Attempts released during shutdown kill their processes when dropped.
    let _ = tokio::time::timeout(REAP_TIMEOUT, exec.wait_until_idle()).await;
    summary
}
