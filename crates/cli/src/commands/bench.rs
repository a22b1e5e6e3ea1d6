//! `windlass bench`: measures throughput and latency, next to the limit of the bare engine.

mod print;
mod progress_bar;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass::{StoreUrl, duration};
use windlass_bench::{Aof, Bench, LoadTarget, Plan, Scenario};

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::settings::STORE_VARIABLE;
use crate::signals::Signals;
use progress_bar::BenchBar;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Uses a temporary SQLite file, a temporary key prefix in the Redis of --store, or a private Redis server with \
    --private. All are removed at the end. Scenarios also measure the bare engine, in alternating rounds. \
    Exits with 1 if a job was lost or started before it was due.\n\n\
    Examples:\n  \
    windlass bench --limit\n  \
    windlass bench --private --limit --json\n  \
    windlass bench process enqueue-bulk --private --aof off,everysec,always\n  \
    windlass bench delayed --private --jobs 1000000 --within 60s\n  \
    windlass bench backlog --private --backlog 1000,10000000"
)]
pub(crate) struct Arguments {
    /// Scenarios to run; if omitted, measures enqueue, processing and wait time
    #[arg(value_name = "SCENARIO", value_enum)]
    scenarios: Vec<ScenarioArg>,

    /// Number of jobs [default: depends on the scenario]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    jobs: Option<u64>,

    /// Payload size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    payload: usize,

    /// Number of concurrent producers for bulk enqueues
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    producers: u16,

    /// Jobs per bulk call
    #[arg(long, value_name = "N", default_value_t = 100)]
    batch: usize,

    /// Jobs the worker runs at once
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrency: u32,

    /// Also measure the bare engine and print the ratio; scenarios always do
    #[arg(long)]
    limit: bool,

    /// Number of measurements; the median is printed
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,

    /// Start a private Redis server for the run
    #[arg(long)]
    private: bool,

    /// Append-only file mode of the private server; several modes are each compared with off
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        value_delimiter = ',',
        requires = "private"
    )]
    aof: Vec<Mode>,

    /// Jobs per second in paced runs [default: half the worker's throughput]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,

    /// Delayed jobs are due at a random time within D
    #[arg(long, value_name = "D", default_value = "5s")]
    within: String,

    /// Number of ready and of scheduled jobs during the measurement [default: 1000,100000]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = [1_000, 100_000],
        hide_default_value = true
    )]
    backlog: Vec<u64>,
}

/// Name of a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScenarioArg {
    /// One job per call, from 100 concurrent tasks
    EnqueueOne,
    /// Batches, from several concurrent producers
    EnqueueBulk,
    /// A worker draining a full queue
    Process,
    /// Producers at a fixed rate and a worker at the same time
    EndToEnd,
    /// Time from enqueue to the start of the handler in an idle worker
    Latency,
    /// How late delayed jobs start
    Delayed,
    /// Cost per job with many ready and scheduled jobs
    Backlog,
    /// Worker processes that are repeatedly killed with SIGKILL
    Crash,
    /// The HTTP API compared with the library
    Http,
    /// All scenarios
    All,
}

impl ScenarioArg {
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

/// Append-only file mode of a private server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    Off,
    Everysec,
    Always,
}

/// Arguments of a worker process of the benchmark.
#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    queue: String,
    ledger: PathBuf,
}

/// Runs the benchmark and removes its store.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let plan = plan(&arguments)?;
    let mut stop = Signals::listen()?;
    let program = std::env::current_exe().map_err(|error| {
        CliError::internal(format!(
            "cannot determine the path of this program: {error}"
        ))
    })?;
    let targets = targets(&arguments, session.global.store.as_deref())?;
    session.interrupts.begin_cleanup();
    let bench = Bench::new(targets, plan, program);
    let measured = tokio::select! {
        measured = measure(&arguments, &bench, &mut session.output) => measured,
        () = stop.next() => Ok(Exit::Interrupted),
    };
    let cleaned_up = bench.end().await;
    let exit = measured?;
    cleaned_up?;
    Ok(exit)
}

async fn measure(arguments: &Arguments, bench: &Bench, output: &mut Output) -> Result<Exit> {
    let bar = BenchBar::new();
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
    let mut is_correct = true;
    for scenario in scenarios {
        let reports = bench.run(scenario, &bar).await?;
        bar.clear();
        for report in &reports {
            is_correct &= report.lost() == 0 && report.early() == 0;
            output.result(report, |output| print::report(report, output));
        }
    }
    print::close(is_correct, output);
    Ok(if is_correct { Exit::Ok } else { Exit::Failed })
}

/// Runs as a worker process of the crash scenario.
pub(crate) async fn worker(arguments: WorkerArguments) -> Result<Exit> {
    // Only the variable set by the benchmark: windlass.toml must not apply.
    let url: StoreUrl = std::env::var(STORE_VARIABLE).unwrap_or_default().parse()?;
    windlass_bench::worker::run(&url, &arguments.queue, &arguments.ledger).await?;
    Ok(Exit::Ok)
}

fn plan(arguments: &Arguments) -> Result<Plan> {
    let within = duration::parse(&arguments.within)?;
    if within.is_zero() || within > Duration::from_secs(24 * 60 * 60) {
        return Err(CliError::usage(
            format!("--within {} is out of range", arguments.within),
            "use 1ms to 1d",
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

fn targets(arguments: &Arguments, store: Option<&str>) -> Result<Vec<LoadTarget>> {
    if !arguments.private {
        return Ok(vec![LoadTarget::choose(store, "bench")?]);
    }
    if store.is_some() {
        return Err(CliError::usage(
            "--private and --store cannot be used together",
            "omit one of them",
        ));
    }
    if arguments.scenarios.is_empty() && arguments.aof.len() > 1 {
        return Err(CliError::usage(
            "several --aof modes need a scenario to compare them in",
            "add one, for example `windlass bench process --private --aof off,everysec`",
        ));
    }
    let mut modes = arguments.aof.clone();
    if modes.is_empty() {
        modes.push(Mode::Off);
    }
    let targets = modes.iter().map(|mode| {
        LoadTarget::private(match mode {
            Mode::Off => Aof::Off,
            Mode::Everysec => Aof::Everysec,
            Mode::Always => Aof::Always,
        })
    });
    Ok(targets.collect::<windlass::Result<_>>()?)
}
