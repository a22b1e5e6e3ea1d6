//! `windlass bench`: how fast it is here, beside the limit of the engine in the same run.

mod print;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass::{StoreUrl, duration};
use windlass_bench::{Aof, Bench, Place, Plan, Scenario};

use crate::exit::{Exit, Failure, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;
use crate::signals::Signals;
use watch::Bar;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "It runs on a temporary SQLite file, with --store under a prefix of its own, or with --private on \
    a Redis server of its own; either is removed at the end. Scenarios measure the bare engine in the same run, round \
    by round. The exit is 1 when a job was lost, or started before it was due.\n\n\
    Examples:\n  \
    windlass bench --limit\n  \
    windlass bench --private --limit --json\n  \
    windlass bench process enqueue-bulk --private --aof off,everysec,always\n  \
    windlass bench delayed --private --jobs 1000000 --within 60s\n  \
    windlass bench backlog --private --backlog 1000,10000000"
)]
pub(crate) struct Arguments {
    /// What to measure; without one: jobs in, jobs out, and how long they wait
    #[arg(value_name = "SCENARIO", value_enum)]
    scenarios: Vec<Named>,

    /// How many jobs [default: what suits the scenario]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    jobs: Option<u64>,

    /// Bytes of one payload
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload: usize,

    /// Producers that enqueue in bulk at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    producers: u16,

    /// Jobs of one call in bulk
    #[arg(long, value_name = "N", default_value_t = 100)]
    batch: usize,

    /// Jobs that the worker runs at once
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrency: u32,

    /// Measure the bare engine in the same run and print the ratio; scenarios do it anyway
    #[arg(long)]
    limit: bool,

    /// How often each figure is taken; the median is printed
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,

    /// Start a Redis server of its own for the run
    #[arg(long)]
    private: bool,

    /// Its append-only file: off, everysec or always; several, and each is compared with off
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        value_delimiter = ',',
        requires = "private"
    )]
    aof: Vec<Mode>,

    /// Jobs a second of a paced run [default: half of what the worker does]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,

    /// Within how long delayed jobs fall due
    #[arg(long, value_name = "D", default_value = "5s")]
    within: String,

    /// How many jobs wait, and are scheduled, while the cost of one is taken [default: 1000,100000]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = [1_000, 100_000],
        hide_default_value = true
    )]
    backlog: Vec<u64>,
}

/// A scenario by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Named {
    /// One job per call, by 100 tasks at once
    EnqueueOne,
    /// Batches, by several producers at once
    EnqueueBulk,
    /// A worker that works off a full queue
    Process,
    /// Producers at a fixed pace and a worker at the same time
    EndToEnd,
    /// From enqueue to the start of the handler in an idle worker
    Latency,
    /// How late delayed jobs start that fall due within a while
    Delayed,
    /// What one job costs while many wait and many are scheduled
    Backlog,
    /// Worker processes that are killed with -9 again and again
    Crash,
    /// The HTTP door beside the library
    Http,
    /// Every one of them
    All,
}

impl Named {
    fn scenarios(self) -> Vec<Scenario> {
        vec![match self {
            Self::EnqueueOne => Scenario::EnqueueOne,
            Self::EnqueueBulk => Scenario::EnqueueBulk,
            Self::Process => Scenario::Process,
            Self::EndToEnd => Scenario::EndToEnd,
            Self::Latency => Scenario::Latency,
            Self::Delayed => Scenario::Delayed,
            Self::Backlog => Scenario::Backlog,
            Self::Crash => Scenario::Crash,
            Self::Http => Scenario::Http,
            Self::All => return Scenario::ALL.to_vec(),
        }]
    }
}

/// Whether the append-only file of a private server is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Off,
    Everysec,
    Always,
}

/// What a worker process of the bench is told.
#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    queue: String,
    ledger: PathBuf,
}

/// Runs the bench. Whatever happens, its store is removed.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let plan = plan(&arguments)?;
    let mut stop = Signals::listen()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::internal(format!("this program has no name: {error}")))?;
    let places = places(&arguments, session.global.store.as_deref())?;
    session.clearing.begin();
    let bench = Bench::new(places, plan, program);
    let measured = tokio::select! {
        measured = measure(&arguments, &bench, &mut session.output) => measured,
        () = stop.next() => Ok(Exit::Interrupted),
    };
    let ended = bench.end().await;
    let exit = measured?;
    ended?;
    Ok(exit)
}

async fn measure(arguments: &Arguments, bench: &Bench, output: &mut Output) -> Result<Exit> {
    let bar = Bar::new();
    if arguments.scenarios.is_empty() {
        let quick = bench.quick(arguments.limit, &bar).await?;
        bar.clear();
        output.result(&quick, |output| print::quick(&quick, output));
        return Ok(Exit::Ok);
    }
    let mut scenarios: Vec<Scenario> = Vec::new();
    for scenario in arguments.scenarios.iter().flat_map(|it| it.scenarios()) {
        if !scenarios.contains(&scenario) {
            scenarios.push(scenario);
        }
    }
    let mut is_sound = true;
    for scenario in scenarios {
        let reports = bench.run(scenario, &bar).await?;
        bar.clear();
        for report in &reports {
            is_sound &= report.lost() == 0 && report.early() == 0;
            output.result(report, |output| print::report(report, output));
        }
    }
    print::close(is_sound, output);
    Ok(if is_sound { Exit::Ok } else { Exit::Failed })
}

/// Works as a process of the crash scenario.
pub(crate) async fn worker(arguments: WorkerArguments) -> Result<Exit> {
    // What the bench said, and nothing that the file in this folder says.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    windlass_bench::worker::run(&url, &arguments.queue, &arguments.ledger).await?;
    Ok(Exit::Ok)
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    let within = duration::parse(&arguments.within)?;
    if within.is_zero() || within > Duration::from_secs(24 * 60 * 60) {
        return Err(Failure::usage(
            format!("--within {} is out of bounds", arguments.within),
            "choose 1ms to 1d",
        ));
    }
    let plan = Plan {
        jobs: arguments.jobs,
        payload: arguments.payload,
        producers: arguments.producers.into(),
        batch: arguments.batch,
        concurrency: usize::try_from(arguments.concurrency).unwrap_or(usize::MAX),
        rounds: arguments.rounds,
        rate: arguments.rate.map(f64::from),
        within,
        backlog: arguments.backlog.clone(),
    };
    plan.check()?;
    Ok(plan)
}

fn places(arguments: &Arguments, named: Option<&str>) -> Result<Vec<Place>> {
    if !arguments.private {
        return Ok(vec![Place::choose(named, "bench")?]);
    }
    if named.is_some() {
        return Err(Failure::usage(
            "--private starts a server of its own, and --store names another",
            "leave one of them out",
        ));
    }
    if arguments.scenarios.is_empty() && arguments.aof.len() > 1 {
        return Err(Failure::usage(
            "several modes of --aof are compared scenario by scenario, and none is named",
            "name one, for example `windlass bench process --private --aof off,everysec`",
        ));
    }
    let mut modes = arguments.aof.clone();
    if modes.is_empty() {
        modes.push(Mode::Off);
    }
    let places = modes.iter().map(|mode| {
        Place::private(match mode {
            Mode::Off => Aof::Off,
            Mode::Everysec => Aof::Everysec,
            Mode::Always => Aof::Always,
        })
    });
    Ok(places.collect::<windlass::Result<_>>()?)
}
