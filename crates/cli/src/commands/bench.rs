//! `windlass bench`: measures throughput and latency, next to the limit of the bare engine.

mod print;
mod progress_bar;

use clap::{Args, ValueEnum};
pub(crate) use windlass_bench::worker::WorkerArguments;
use windlass_bench::{Bench, LoadTarget, Scenario};

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;
use progress_bar::BenchBar;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = format!("{}\nUses a temporary SQLite file, or a temporary key prefix in the Redis of --store. Both are removed at the end. \
    Scenarios also measure the bare engine, in alternating rounds. \
    Exits with 1 if a job was lost or started before it was due.\n\n\
    Examples:\n  \
    windlass bench --limit\n  \
    windlass bench process enqueue-bulk --store redis://localhost/0\n  \
    windlass bench delayed --jobs 100000 --within 60s --json\n  \
    windlass bench backlog --backlog 1000,1000000", scenarios())
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    load: windlass_bench::Arguments,
}

fn scenarios() -> String {
    let values = Scenario::value_variants().iter();
    let lines = values
        .filter_map(ValueEnum::to_possible_value)
        .map(|value| {
            let help = value.get_help().map(ToString::to_string);
            format!("  {:<12}  {}\n", value.get_name(), help.unwrap_or_default())
        });
    format!("Scenarios:\n{}", lines.collect::<String>())
}

/// Runs the benchmark and removes its store.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let plan = arguments.load.plan.clone();
    plan.check()?;
    let mut stop = Signals::listen()?;
    let program = std::env::current_exe().map_err(|error| {
        CliError::internal(format!(
            "cannot determine the path of this program: {error}"
        ))
    })?;
    let target = LoadTarget::choose(session.global.store.as_deref(), "bench")?;
    session.interrupts.begin_cleanup();
    let bench = Bench::new(vec![target], plan, program);
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
    let show = |measured| {
        bar.clear();
        output.result(&measured, |output| print::measured(&measured, output));
    };
    let is_correct = bench.measure(&arguments.load, &bar, show).await?;
    print::close(is_correct, output);
    Ok(if is_correct { Exit::Ok } else { Exit::Failed })
}

/// Runs as a worker process of the crash scenario.
pub(crate) async fn worker(arguments: WorkerArguments) -> Result<Exit> {
    windlass_bench::worker::run(arguments).await?;
    Ok(Exit::Ok)
}
