//! The benchmarks of Windlass: runs on a private Redis server, docs/performance.md, and other queues.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool prints"
)]

mod machine;
mod number;
mod peers;
mod report;
mod run;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use windlass_bench::worker::{self, WorkerArguments};
use xtask::install;

/// Benchmarks of Windlass
#[derive(Debug, Parser)]
#[command(name = "windlass-bench")]
enum Task {
    /// Measure the store, client and worker against the bare engine; prints one line of JSON per result
    Run(Box<run::Arguments>),
    /// Measure everything on docs/performance.md and write it; takes about 15 minutes on an idle machine
    Report(report::Arguments),
    /// Run the same work on Windlass and on other queues, alternating, and write docs/performance/peers.md
    Peers(peers::Arguments),
    /// Worker process of the scenario `crash`
    #[command(hide = true)]
    BenchWorker(WorkerArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Run(arguments) => run::run(*arguments).await.map_err(with_help),
        Task::BenchWorker(arguments) => {
            let done = worker::run(arguments).await;
            done.map(|()| ExitCode::SUCCESS).map_err(with_help)
        }
        Task::Report(arguments) => report::run(&xtask::root(), &arguments),
        Task::Peers(arguments) => peers::run(&xtask::root(), &arguments),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::FAILURE
    })
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn with_help(error: windlass::Error) -> String {
    format!("{error}\n  help: {}", error.help())
}

/// Writes all measurements of a run.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    install::create_folder(path.parent().unwrap_or(path))?;
    install::write(path, &(text + "\n"))
}
