//! Shared by `exec`, `worker` and `up`: worker flags, signal handling and the summary.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgGroup, Args};
use serde::Serialize;
use windlass::store::LeaseTime;
use windlass::{OpenMode, QueueName, duration};
use windlass_exec::{EnvironmentArgs, LogSink};
use windlass_server::MetricsListener;
use windlass_worker::{Connections, Handle, Options, Runtime, Source, Stopper, Summary};

use crate::commands::start;
use crate::exit::{CliError, Result};
use crate::process_args::ProcessArgs;
use crate::session::Session;
use crate::signals::Signals;
use crate::telemetry::Telemetry;

/// Longest worker name.
const NAME_CHARS_MAX: usize = 30;

/// Worker flags and the command to run.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("needed").args(["queue_name", "queue"]).required(true).multiple(true))]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    queues: QueueArgs,

    #[command(flatten)]
    pub(crate) run_args: RunArgs,

    /// Serve metrics for Prometheus on this port, or address and port
    #[arg(long, value_name = "ADDR", value_parser = metrics_address)]
    metrics: Option<SocketAddr>,

    /// Exit when the queues are drained: nothing waiting or running
    #[arg(long)]
    burst: bool,

    #[command(flatten)]
    pub(crate) process: ProcessArgs,

    /// Program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// The queues to claim from, shared with `up`.
#[derive(Debug, Args)]
#[group(id = "queues", multiple = true)]
pub(crate) struct QueueArgs {
    /// Queue to claim jobs from
    #[arg(value_name = "QUEUE", requires = "command")]
    queue_name: Option<QueueName>,

    /// Queue to claim jobs from, instead of QUEUE or in addition; repeatable
    #[arg(long, value_name = "Q", requires = "command")]
    queue: Vec<QueueName>,
}

impl QueueArgs {
    pub(crate) fn names(&self) -> Vec<QueueName> {
        self.queue_name.iter().chain(&self.queue).cloned().collect()
    }
}

/// Flags for running jobs, shared with `up`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Number of jobs to run at once
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = 1)]
    #[arg(requires = "command")]
    pub(crate) jobs: usize,

    /// Lease duration; the worker renews it automatically [default: 30s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command", value_parser = duration::parse)]
    lease: Option<Duration>,

    /// Time limit per attempt, for jobs without their own
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command", value_parser = duration::parse)]
    timeout: Option<Duration>,

    /// How long running jobs may continue after a stop signal [default: 25s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command", value_parser = duration::parse)]
    pub(crate) grace: Option<Duration>,

    /// Time from SIGTERM to SIGKILL for a process [default: 5s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    #[arg(requires = "command", value_parser = duration::parse)]
    #[arg(default_value = "5s", hide_default_value = true)]
    pub(crate) kill_after: Duration,

    #[command(flatten)]
    pub(crate) environment: EnvironmentArgs,
}

impl WorkerArgs {
    pub(crate) fn queues(&self) -> Vec<QueueName> {
        self.queues.names()
    }

    /// Returns the runtime options, validated.
    pub(crate) fn options(&self) -> Result<Options> {
        let mut options = self.run_args.options(self.queues(), &self.command)?;
        options.is_burst = self.burst;
        options.waits_for_store = !self.process.fail_fast;
        options.check()?;
        Ok(options)
    }

    /// Serves metrics if `--metrics` is given. Call it before the worker starts.
    pub(crate) async fn serve_metrics(&self, session: &mut Session) -> Result<()> {
        if let Some(address) = self.metrics {
            let listener = MetricsListener::bind(address).await?;
            session.output.note(&format!("metrics: {}", listener.url()));
            tokio::spawn(listener.run());
        }
        Ok(())
    }

    /// Opens the store. Returns `None` if a signal arrives before it can be reached.
    pub(crate) async fn stores(
        &self,
        session: &Session,
        signals: &mut Signals,
    ) -> Result<Option<Connections>> {
        stores(session, self.process, signals).await
    }
}

impl RunArgs {
    /// Returns the runtime options set by the flags.
    pub(crate) fn options(&self, queues: Vec<QueueName>, command: &[OsString]) -> Result<Options> {
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(CliError::usage(
                "--timeout must be greater than zero",
                "use --timeout 1ms or more, or omit it for no limit",
            ));
        }
        let mut options = Options::new(queues.into_iter().map(Source::new));
        options.name = name(command);
        options.concurrency = self.jobs;
        options.timeout = self.timeout;
        if let Some(lease) = self.lease {
            options.lease = LeaseTime::new(lease)?;
        }
        options.grace = self.grace.unwrap_or(options.grace);
        Ok(options)
    }
}

/// Parses an address to listen on; a port alone is one of this machine.
fn metrics_address(text: &str) -> std::result::Result<SocketAddr, &'static str> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    match port.parse() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text
            .parse()
            .map_err(|_| "use a port or an IP address with a port: 9187, 0.0.0.0:9187"),
    }
}

/// Names a worker after its program.
fn name(command: &[OsString]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name);
    let name = program.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let printable = name.chars().filter(|c| !c.is_control());
    let name: String = printable.take(NAME_CHARS_MAX).collect();
    if name.is_empty() {
        "program".to_owned()
    } else {
        name
    }
}

/// Returns a sink that logs what programs print on stderr.
pub(crate) fn log_sink() -> LogSink {
    Arc::new(|line| tracing::info!(name: "output", target: "windlass", "{line}"))
}

/// Opens the store, creating it if missing: a worker may start before the first job exists. Returns
/// `None` if a signal arrives before it can be reached.
pub(crate) async fn stores(
    session: &Session,
    process: ProcessArgs,
    signals: &mut Signals,
) -> Result<Option<Connections>> {
    let opening = start::open(session, OpenMode::CreateIfMissing, process);
    let opened = signals.unless_next(opening).await.transpose()?;
    if opened.is_some() {
        // From here on the first signal is a graceful stop.
        session.interrupts.take_over();
    }
    Ok(opened)
}

/// Runs a worker. The first signal lets running jobs finish and calls `on_stop`; the second stops
/// them.
pub(crate) async fn run(
    stores: Connections,
    options: Options,
    handler: Arc<dyn Handle>,
    signals: &mut Signals,
    on_stop: impl Fn(),
) -> Result<Summary> {
    let telemetry = Arc::new(Telemetry::from_env());
    let runtime = Runtime::new(stores, options, telemetry.trace_attempts(handler))?;
    let stopper = runtime.stopper();
    let summary = tokio::select! {
        summary = runtime.run() => summary,
        never = handle_signals(&stopper, signals, on_stop) => match never {},
    };
    telemetry.finish().await;
    Ok(summary?)
}

async fn handle_signals(
    stopper: &Stopper,
    signals: &mut Signals,
    on_stop: impl Fn(),
) -> std::convert::Infallible {
    signals.next().await;
    on_stop();
    stopper.stop();
    loop {
        signals.next().await;
        stopper.stop_now();
    }
}

/// Number of attempts per outcome.
#[derive(Debug, Serialize)]
struct Reply {
    succeeded: u64,
    failed: u64,
    dead: u64,
    released: u64,
    snoozed: u64,
    cancelled: u64,
    lost: u64,
}

pub(crate) fn print(session: &mut Session, summary: &Summary) {
    let reply = Reply {
        succeeded: summary.succeeded,
        failed: summary.failed,
        dead: summary.dead,
        released: summary.released,
        snoozed: summary.snoozed,
        cancelled: summary.cancelled,
        lost: summary.lost,
    };
    session.output.result(&reply, |output| {
        let counts = [
            ("succeeded", reply.succeeded),
            ("failed (will be retried)", reply.failed),
            ("dead", reply.dead),
            ("released", reply.released),
            ("snoozed", reply.snoozed),
            ("cancelled", reply.cancelled),
            ("lost their lease", reply.lost),
        ];
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(outcome, count)| format!("{count} {outcome}"))
            .collect();
        output.line(&if counts.is_empty() {
            "no jobs".to_owned()
        } else {
            counts.join(", ")
        });
    });
}
