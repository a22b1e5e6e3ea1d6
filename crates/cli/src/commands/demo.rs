//! `windlass demo`: one bounded run of the whole system, with an independent count of lost jobs.
//!
//! Several worker processes share the store, and one of them is killed with SIGKILL half-way. With `--watch` it is
//! a store with life in it instead, to look at.

mod life;
mod plan;
mod report;
mod watch;
pub(crate) mod worker;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use tokio::process::Command;
use windlass::store::Stats;
use windlass::{JobId, OpenMode, QueueName, Store, StoreUrl};
use windlass_bench::{LoadTarget, WorkerProcesses, keep_ended};

use super::serve;
use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;
use crate::signals::Signals;
use report::Report;
use worker::READY_TO_BE_KILLED;

/// Jobs per enqueue call. Fits in one transaction of any store, so that an error is never about a
/// partly applied call.
const BATCH: usize = 200;

/// Refresh interval of the progress bar.
const REFRESH: Duration = Duration::from_millis(50);

/// A run without progress for this long is aborted.
const STALL_MAX: Duration = Duration::from_secs(60);

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Uses a temporary store, or a temporary key prefix in the Redis of --store. Both are removed at the end. \
    Exits with 1 if a job was lost.\n\n\
    Examples:\n  \
    windlass demo\n  \
    windlass demo --watch\n  \
    windlass demo --jobs 1000 --store redis://localhost/0"
)]
pub(crate) struct Arguments {
    /// Number of jobs
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,

    /// Number of worker processes; one of them is killed
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    workers: u32,

    /// Serve a store with several queues, failures, schedules and groups until Ctrl-C, and print its address
    #[arg(long, conflicts_with_all = ["jobs", "workers"])]
    watch: bool,

    /// Address and port of the dashboard; port 0 picks a free one
    #[arg(long, value_name = "ADDR", requires = "watch", default_value = serve::LISTEN, value_parser = serve::listen::parse)]
    listen: SocketAddr,
}

/// Runs the demo and removes its store. Fails if a job was lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    if arguments.watch {
        return watch::run(arguments.listen, session).await;
    }
    let mut stop = Signals::listen()?;
    let target = LoadTarget::choose(session.global.store.as_deref(), "demo")?;
    session.interrupts.begin_cleanup();
    let mut processes = WorkerProcesses::default();
    let report = tokio::select! {
        report = run_jobs(&arguments, target.url(), &mut processes, session) => report.map(Some),
        () = stop.next() => Ok(None),
    };
    processes.kill_all().await;
    let removed = target.remove().await;
    let Some(report) = report? else {
        return Ok(Exit::Interrupted);
    };
    session
        .output
        .result(&report, |output| report.print(output));
    removed?;
    Ok(if report.lost == 0 {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

async fn run_jobs(
    arguments: &Arguments,
    url: &StoreUrl,
    processes: &mut WorkerProcesses,
    session: &mut Session,
) -> Result<Report> {
    let queue = QueueName::new("demo")?;
    let store = windlass::open(url, OpenMode::CreateIfMissing).await?;
    let store = store.as_ref();
    keep_ended(store, &queue).await?;
    session.output.note(&format!(
        "running {} jobs with {} worker processes, one of which will be killed; store {url}",
        arguments.jobs, arguments.workers
    ));

    let began = Instant::now();
    for _ in 0..arguments.workers {
        processes.start(worker_process(url, &queue)?)?;
    }
    let bar = Output::count_bar(u64::from(arguments.jobs));
    let (accepted, ()) = tokio::try_join!(
        enqueue(store, &queue, arguments.jobs),
        watch(store, &queue, processes, &bar, u64::from(arguments.jobs)),
    )?;
    let seconds = began.elapsed().as_secs_f64();
    bar.finish_and_clear();
    processes.stop().await?;

    Report::collect(store, &queue, &accepted, seconds).await
}

/// Returns the command that starts a worker process.
fn worker_process(url: &StoreUrl, queue: &QueueName) -> Result<Command> {
    let program = std::env::current_exe()
        .map_err(|error| CliError::internal(format!("cannot start a worker process: {error}")))?;
    let mut command = Command::new(program);
    command
        .args(["demo-worker", queue.as_str()])
        // Not an argument: other users can read those, and the URL may contain a password.
        .env(STORE_VARIABLE, url.to_secret_string());
    Ok(command)
}

/// Enqueues the jobs and returns the accepted ids, which the report is checked against.
async fn enqueue(store: &dyn Store, queue: &QueueName, jobs: u32) -> Result<BTreeSet<JobId>> {
    let mut accepted = BTreeSet::new();
    let mut planned = plan::jobs(jobs).peekable();
    while planned.peek().is_some() {
        let batch: Vec<_> = planned.by_ref().take(BATCH).collect();
        let enqueued = store.enqueue(queue, batch).await?;
        accepted.extend(enqueued.iter().map(|job| job.id().clone()));
    }
    Ok(accepted)
}

/// Waits until all jobs have ended, and kills one worker on the way.
async fn watch(
    store: &dyn Store,
    queue: &QueueName,
    processes: &mut WorkerProcesses,
    bar: &ProgressBar,
    jobs: u64,
) -> Result<()> {
    let ended = |stats: &Stats| stats.total.succeeded + stats.total.dead;
    let mut last = (0, Instant::now());
    let mut refresh = tokio::time::interval(REFRESH);
    loop {
        tokio::select! {
            _ = refresh.tick() => {}
            (pid, line) = processes.next_line() => {
                if line != READY_TO_BE_KILLED {
                    continue;
                }
                processes.kill(pid).await?;
                bar.set_message(format!("killed worker {pid} with SIGKILL"));
            }
        }
        let Some(stats) = store.stats(queue).await? else {
            continue;
        };
        let done = ended(&stats);
        bar.set_position(done);
        if done >= jobs {
            return Ok(());
        }
        if done > last.0 {
            last = (done, Instant::now());
        } else if last.1.elapsed() > STALL_MAX {
            return Err(CliError::internal(format!(
                "no progress for {} s: {done} of {jobs} jobs ended",
                STALL_MAX.as_secs()
            )));
        }
    }
}
