//! `windlass bench`: measures throughput and latency, next to the limit of the bare engine.

mod print;
mod progress_bar;

use clap::Args;
pub(crate) use windlass_bench::worker::WorkerArguments;
use windlass_bench::{Bench, LoadTarget};

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;
use crate::signals::Signals;
use progress_bar::BenchBar;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Uses a temporary SQLite file, or a temporary key prefix in the Redis of --store. Both are removed at the end. \
    Scenarios also measure the bare engine, in alternating rounds. \
    Exits with 1 if a job was lost or started before it was due.\n\n\
    Examples:\n  \
    windlass bench --limit\n  \
    windlass bench process enqueue-bulk --store redis://localhost/0\n  \
    windlass bench delayed --jobs 100000 --within 60s --json\n  \
    windlass bench backlog --backlog 1000,1000000"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    load: windlass_bench::Arguments,
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
