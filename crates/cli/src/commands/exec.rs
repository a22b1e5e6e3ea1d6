//! `windlass exec`: any command as a worker, one process per job.

pub(crate) mod child;
pub(crate) mod program;
pub(crate) mod work;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use windlass_exec::Exec;
use windlass_worker::{Options, Stores, Summary};

use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

use program::Program;
use work::Work;

/// How long a stopping process has beyond `--kill-after`: to be reaped, and its pipes read out.
pub(crate) const REAPING: Duration = Duration::from_secs(2);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit statuses of CMD: 0 done (its output is the result), 75 try again later, \
    64–74 and 76–78 failed for good, 126 and 127 no such program, any other a failed attempt.\n\n\
    {id} {kind} {queue} {attempt} {payload} {payload.a.b} {kind:-default} in an ARG are replaced \
    by the job's values. CMD sees WINDLASS_JOB_ID, _QUEUE, _KIND, _ATTEMPT, _MAX_ATTEMPTS, _TOKEN \
    and _DEADLINE; lines like {\"progress\":0.4,\"message\":\"…\"} on descriptor 3 are its progress.\n\n\
    Examples:\n  \
    windlass exec --queue mail -j 4 -- sendmail -t\n  \
    windlass exec --queue images --burst -- ./resize {payload.file}"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    work: Work,

    #[command(flatten)]
    program: Program,
}

/// Works until it is stopped or, with --burst, until nothing is left.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let Work { pace, command, .. } = &arguments.work;
    let options = arguments.program.options(pace, command, session)?;
    let mut worker = arguments.work.options()?;
    worker.stop_wait = options.kill_after + REAPING;
    let (_, stores) = work::stores(session).await?;
    let exec = Exec::new(options)?;
    let mut signals = session.signals()?;
    let summary = work_on(&exec, stores, worker, &mut signals, || {}).await?;
    work::print(session, &summary);
    Ok(Exit::Ok)
}

/// Works until it is stopped, and until no process is left.
pub(crate) async fn work_on(
    exec: &Exec,
    stores: Stores,
    options: Options,
    signals: &mut Signals,
    stopping: impl Fn(),
) -> Result<Summary> {
    let summary = work::run(stores, options, Arc::new(exec.clone()), signals, stopping).await;
    // Attempts that were given back at the last moment kill their processes as they go.
    let _ = tokio::time::timeout(REAPING, exec.emptied()).await;
    summary
}
