//! `windlass demo`: the whole product in one bounded run, with an outside count of what was lost.
//!
//! Real worker processes share the store; one is killed with -9 half-way, and nothing is lost.

mod crew;
mod plan;
mod report;
pub(crate) mod worker;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use tempfile::TempDir;
use windlass::{Existing, JobId, QueueName, Stats, Store, StoreUrl};

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crew::Crew;
use report::Report;

/// Jobs handed over in one call.
const BATCH: usize = 500;

/// How often the figures are looked at; it paces the bar, nothing depends on it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A run that makes no headway for this long is given up.
const STALL_MAX: Duration = Duration::from_secs(60);

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many jobs
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,

    /// How many worker processes; one of them will be killed
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=64))]
    workers: u32,
}

/// Runs the demo; fails when a job was lost.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let place = Place::choose(session)?;
    let outcome = play(&arguments, &place.url, session).await;
    place.remove();
    let report = outcome?;
    let exit = if report.lost == 0 {
        Exit::Ok
    } else {
        Exit::Failed
    };
    session
        .output
        .result(&report, |output| report.print(output));
    Ok(exit)
}

/// A store of the demo's own, gone afterwards.
#[derive(Debug)]
struct Place {
    url: StoreUrl,
    folder: TempDir,
}

impl Place {
    /// A temporary folder, or one beside the store that was named: the same disk, other files.
    fn choose(session: &Session) -> Result<Self> {
        let beside = match session.global.store.as_deref() {
            None => std::env::temp_dir(),
            Some(named) => match named.parse()? {
                StoreUrl::Sqlite { path } => {
                    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
                    if folder.as_os_str().is_empty() {
                        PathBuf::from(".")
                    } else {
                        folder
                    }
                }
                other => {
                    return Err(Failure::usage(
                        format!("the demo does not run on {other}: its processes share a file"),
                        "leave --store out, or name a place with --store sqlite:PATH",
                    ));
                }
            },
        };
        let made = tempfile::Builder::new()
            .prefix("windlass-demo-")
            .tempdir_in(&beside);
        let folder = made.map_err(|error| {
            let help = "name a store in a folder you may write to";
            Failure::usage(
                format!("no demo store can be made in {}: {error}", beside.display()),
                help,
            )
        })?;
        Ok(Self {
            url: StoreUrl::Sqlite {
                path: folder.path().join("demo.db"),
            },
            folder,
        })
    }

    fn remove(self) {
        // A temporary folder that cannot be removed is the system's to clean.
        let _ = self.folder.close();
    }
}

async fn play(arguments: &Arguments, url: &StoreUrl, session: &mut Session) -> Result<Report> {
    let queue = QueueName::new("demo")?;
    let store = windlass::open(url, Existing::OrCreate).await?;
    plan::keep_everything(store.as_ref(), &queue).await?;
    session.output.talk(&format!(
        "{} jobs, {} worker processes, one of them to be killed; store {url}",
        arguments.jobs, arguments.workers
    ));

    let began = Instant::now();
    let mut crew = Crew::start(arguments.workers, url, &queue)?;
    let bar = Output::count_bar(u64::from(arguments.jobs));
    let enqueueing = tokio::spawn(enqueue(store.clone(), queue.clone(), arguments.jobs));
    let watching = watch(
        store.as_ref(),
        &queue,
        &mut crew,
        &bar,
        u64::from(arguments.jobs),
    )
    .await;
    let accepted = enqueueing
        .await
        .map_err(|panic| Failure::internal(panic.to_string()))??;
    watching?;
    let seconds = began.elapsed().as_secs_f64();
    bar.finish_and_clear();
    crew.dismiss().await?;

    Report::draw(store.as_ref(), &queue, &accepted, seconds).await
}

/// Enqueues the planned jobs; answers the ids that were accepted, which is the outside count.
async fn enqueue(store: Arc<dyn Store>, queue: QueueName, jobs: u32) -> Result<BTreeSet<JobId>> {
    let mut accepted = BTreeSet::new();
    let mut planned = plan::jobs(jobs).peekable();
    while planned.peek().is_some() {
        let batch: Vec<_> = planned.by_ref().take(BATCH).collect();
        let answers = store.enqueue(&queue, batch).await?;
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
            victim = crew.next_holding() => {
                let pid = crew.kill(victim?)?;
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
