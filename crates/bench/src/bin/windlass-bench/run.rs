//! `windlass-bench run`: like `windlass bench`, also on private Redis servers.

use std::process::ExitCode;

use clap::Args;
use windlass::{Error, ErrorKind, Result};
use windlass_bench::{Aof, Bench, LoadTarget, Measured, ProgressReport};
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(after_help = "Exits with 1 if a job was lost or started before it was due.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    load: windlass_bench::Arguments,

    /// Store to use [default: a temporary SQLite file]
    #[arg(long, value_name = "URL", conflicts_with = "private")]
    store: Option<String>,

    /// Start a private Redis server for the run
    #[arg(long)]
    private: bool,

    /// Append-only file mode of the private server; several modes are each compared with off
    #[arg(
        long,
        value_name = "MODE",
        value_enum,
        value_delimiter = ',',
        default_value = "off",
        requires = "private"
    )]
    aof: Vec<Aof>,
}

/// Shows phases of a run.
struct Phases;

impl ProgressReport for Phases {
    fn begin(&self, what: &str, jobs: u64) {
        eprintln!("{what}: {jobs} jobs");
    }

    fn reached(&self, _: u64) {}
}

/// Runs the benchmark and removes its stores.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let plan = arguments.load.plan.clone();
    plan.check()?;
    let mut servers = Vec::new();
    let mut targets = Vec::new();
    if arguments.private {
        if arguments.load.scenarios().is_empty() && arguments.aof.len() > 1 {
            let help = "add one, for example `run process --private --aof off,everysec`";
            let what = "several --aof modes need a scenario to compare them in";
            return Err(Error::new(ErrorKind::Invalid, what, help));
        }
        for mode in &arguments.aof {
            let server = start(*mode)?;
            targets.push(LoadTarget::private(&server.url(), *mode)?);
            servers.push(server);
        }
    } else {
        targets.push(LoadTarget::choose(arguments.store.as_deref(), "bench")?);
    }
    let program = std::env::current_exe().map_err(|error| {
        let what = format!("cannot determine the path of this program: {error}");
        Error::new(ErrorKind::Internal, what, "start it by its path")
    })?;
    let bench = Bench::new(targets, plan, program);
    let measured = tokio::select! {
        measured = bench.measure(&arguments.load, &Phases, show) => measured,
        _ = tokio::signal::ctrl_c() => Ok(false),
    };
    let cleaned_up = bench.end().await;
    drop(servers);
    let is_correct = measured?;
    cleaned_up?;
    Ok(if is_correct {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "results are passed on as they come"
)]
fn show(measured: Measured) {
    let line = serde_json::to_string(&measured).expect("plain values");
    println!("{line}");
}

fn start(mode: Aof) -> Result<Server> {
    let options = ServerOptions::new().tcp();
    let options = match mode {
        Aof::Off => options,
        Aof::Everysec => options.append_only(Fsync::EverySecond),
        Aof::Always => options.append_only(Fsync::Always),
    };
    options.try_start().map_err(|why| {
        let why = why.lines().next().unwrap_or_default();
        Error::new(
            ErrorKind::StoreUnreachable,
            format!("cannot start a private Redis server: {why}"),
            "install it with `apt-get install redis-server` or `brew install redis`, set \
             WINDLASS_REDIS_SERVER=/path/to/redis-server, or choose a store with --store",
        )
    })
}
