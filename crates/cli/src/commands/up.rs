//! `windlass up`: the HTTP API, maintenance and, if a command is given, a worker, in one process.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass::Store;
use windlass::runtime::{Connections, Role};
use windlass::store::limits;
use windlass_exec::Exec;
use windlass_server::CancellationToken;
use windlass_worker::Options;

use super::exec::program_args::ProgramArgs;
use super::exec::worker_args::{self, QueueArgs, RunArgs};
use super::exec::{self, REAP_TIMEOUT};
use super::hint;
use super::serve::{self, HttpArguments};
use crate::env;
use crate::exit::{CliError, Exit, Result};
use crate::process_args::ProcessArgs;
use crate::session::Session;
use crate::signals::Signals;

/// Time between two maintenance runs.
const MAINTAIN_EVERY: Duration = Duration::from_secs(1);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    override_usage = "windlass up [OPTIONS] [<QUEUE> <CMD>...]\n       \
    windlass up [OPTIONS] --queue <Q> [--queue <Q>...] -- <CMD>...",
    after_help = "CMD runs as with `windlass exec`: payload on stdin, stdout is the result. \
    Access tokens work as with `windlass serve`.\n\n\
    Examples:\n  \
    windlass up\n  \
    windlass up mail -j 4 ./send-letter"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    http: HttpArguments,

    #[command(flatten)]
    queues: QueueArgs,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    #[command(flatten)]
    run_args: RunArgs,

    #[command(flatten)]
    program: ProgramArgs,

    #[arg(long, value_enum)]
    #[arg(
        help = "Whether this process runs maintenance; jobs also run without it, because claims do the \
                necessary work [default: leader] [env: WORKER_ROLE]"
    )]
    role: Option<RoleArg>,

    /// Program and its arguments
    #[arg(last = true, value_name = "CMD", requires = "queues")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum RoleArg {
    /// Runs maintenance
    #[default]
    Leader,
    /// Leaves maintenance to other processes
    Follower,
}

/// Runs until a signal; a second one stops it immediately.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let options = arguments.http.options()?;
    let role = arguments.role()?;
    let worker = arguments.worker(role)?;
    let program = arguments.exec()?;
    let mut signals = Signals::listen()?;
    let Some(stores) = worker_args::stores(session, arguments.process, &mut signals).await? else {
        return Ok(Exit::Ok);
    };
    hint::note_unused(stores.store().as_ref(), &arguments.queues.names(), session).await;
    let store = session.settings()?.store.clone();
    let server = serve::open(&stores, &store, options, session).await?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    match role {
        RoleArg::Leader => tokio::spawn(maintain(stores.clone(), stop.clone())),
        RoleArg::Follower => tokio::spawn(serve::watch_store(stores.clone(), stop.clone())),
    };
    let summary = if let (Some(worker), Some(program)) = (worker, program) {
        let on_stop = || stop.cancel();
        let summary = exec::run_worker(&program, stores, worker, &mut signals, on_stop).await;
        // If the worker ends by itself, stop serving too, so that the failure is noticed.
        stop.cancel();
        Some(summary?)
    } else {
        signals.next().await;
        stop.cancel();
        None
    };
    let exit = serve::finish(serving, &mut signals).await;
    if let Some(summary) = summary.filter(|_| exit == Exit::Ok) {
        worker_args::print(session, &summary);
    }
    Ok(exit)
}

/// Runs maintenance on all queues periodically.
async fn maintain(stores: Connections, stop: CancellationToken) {
    let mut caller = stores.outage().caller();
    while !stop.is_cancelled() {
        // After an error the next run may succeed, and claims do the same work.
        caller.record(&maintain_all(stores.store().as_ref()).await);
        tokio::select! {
            () = tokio::time::sleep(MAINTAIN_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn maintain_all(store: &dyn Store) -> windlass::Result<()> {
    let mut all = Ok(());
    for queue in &store.queues().await? {
        let maintained = windlass_schedule::maintain(store, queue, limits::PAGE).await;
        all = all.and(maintained.map(drop));
    }
    all
}

impl Arguments {
    fn role(&self) -> Result<RoleArg> {
        if let Some(role) = self.role {
            return Ok(role);
        }
        let role = env::value("WORKER_ROLE", |text| {
            RoleArg::from_str(text, false).map_err(|_| {
                let help = "set WORKER_ROLE=leader or WORKER_ROLE=follower, or unset it";
                CliError::usage(format!("unknown role {text:?}"), help)
            })
        });
        Ok(role?.unwrap_or_default())
    }

    fn worker(&self, role: RoleArg) -> Result<Option<Options>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let mut options = self.run_args.options(self.queues.names(), &self.command)?;
        "up".clone_into(&mut options.name);
        options.stop_wait = self.run_args.kill_after + REAP_TIMEOUT;
        options.waits_for_store = !self.process.fail_fast;
        options.role = match role {
            RoleArg::Leader => Role::Elected,
            RoleArg::Follower => Role::Follower,
        };
        options.check()?;
        Ok(Some(options))
    }

    fn exec(&self) -> Result<Option<Exec>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let options = self.program.options(&self.run_args, &self.command)?;
        Ok(Some(Exec::new(options)))
    }
}
