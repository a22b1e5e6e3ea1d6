//! `windlass demo`: the whole product in one bounded run, with an outside count of what was lost.
//!
//! Real worker processes share the store; one is killed with -9 half-way, and nothing is lost.

mod plan;
mod report;
pub(crate) mod worker;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use tokio::process::Command;
use windlass::store::Stats;
use windlass::{Existing, JobId, QueueName, Store, StoreUrl};
use windlass_bench::{Crew, Place, keep_ended};

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;
use crate::signals::Signals;
use report::Report;
use worker::HOLDING;

/// Jobs handed over in one call: one step of any store, so that a failure says what it is and not that
/// part was done.
const BATCH: usize = 200;

/// How often the figures are looked at; it paces the bar, nothing depends on it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A run that makes no headway for this long is given up.
const STALL_MAX: Duration = Duration::from_secs(60);

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "It runs on a temporary store of its own, or on --store under a prefix of its own; either is removed \
    at the end. The exit is 1 when a job was lost.\n\n\
    Examples:\n  \
    windlass demo\n  \
    windlass demo --jobs 1000 --store redis://localhost/0"
)]
pub(crate) struct Arguments {
    /// How many jobs
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,

    /// How many worker processes; one of them will be killed
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    workers: u32,
}

/// Runs the demo; fails when a job was lost. Whatever happens, its store is removed.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let mut stop = Signals::listen()?;
    let place = Place::choose(session.global.store.as_deref(), "demo")?;
    session.clearing.begin();
    let mut crew = Crew::default();
    let played = tokio::select! {
        played = play(&arguments, place.url(), &mut crew, session) => played.map(Some),
        () = stop.next() => Ok(None),
    };
    crew.end().await;
    let removed = place.remove().await;
    let Some(report) = played? else {
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

async fn play(
    arguments: &Arguments,
    url: &StoreUrl,
    crew: &mut Crew,
    session: &mut Session,
) -> Result<Report> {
    let queue = QueueName::new("demo")?;
    let store = windlass::open(url, Existing::OrCreate).await?;
    let store = store.as_ref();
    keep_ended(store, &queue).await?;
    session.output.talk(&format!(
        "{} jobs, {} worker processes, one of them to be killed; store {url}",
        arguments.jobs, arguments.workers
    ));

    let began = Instant::now();
    for _ in 0..arguments.workers {
        crew.start(worker_process(url, &queue)?)?;
    }
    let bar = Output::count_bar(u64::from(arguments.jobs));
    let (accepted, ()) = tokio::try_join!(
        enqueue(store, &queue, arguments.jobs),
        watch(store, &queue, crew, &bar, u64::from(arguments.jobs)),
    )?;
    let seconds = began.elapsed().as_secs_f64();
    bar.finish_and_clear();
    crew.dismiss().await?;

    Report::draw(store, &queue, &accepted, seconds).await
}

/// This program once more, as a worker.
fn worker_process(url: &StoreUrl, queue: &QueueName) -> Result<Command> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::internal(format!("no worker starts: {error}")))?;
    let mut command = Command::new(program);
    command
        .args(["demo-worker", queue.as_str()])
        // Everybody on the machine may read the arguments of a process; the URL may hold a secret.
        .env(STORE_VARIABLE, url.to_secret_string());
    Ok(command)
}

/// Enqueues the planned jobs; answers the ids that were accepted, which is the outside count.
async fn enqueue(store: &dyn Store, queue: &QueueName, jobs: u32) -> Result<BTreeSet<JobId>> {
    let mut accepted = BTreeSet::new();
    let mut planned = plan::jobs(jobs).peekable();
    while planned.peek().is_some() {
        let batch: Vec<_> = planned.by_ref().take(BATCH).collect();
        let answers = store.enqueue(queue, batch).await?;
        accepted.extend(answers.iter().map(|answer| answer.id().clone()));
    }
    Ok(accepted)
}

/// Follows the run to its end, and kills a worker on the way.
async fn watch(
    store: &dyn Store,
    queue: &QueueName,
    crew: &mut Crew,
    bar: &ProgressBar,
    jobs: u64,
) -> Result<()> {
    let ended = |stats: &Stats| stats.total.succeeded + stats.total.dead;
    let mut last = (0, Instant::now());
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            _ = look.tick() => {}
            (pid, line) = crew.next_line() => {
                if line != HOLDING {
                    continue;
                }
                crew.kill(pid).await?;
                bar.set_message(format!("killed worker {pid} with -9"));
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
            return Err(Failure::internal(format!(
                "{done} of {jobs} jobs ended, then none did"
            )));
        }
    }
}
