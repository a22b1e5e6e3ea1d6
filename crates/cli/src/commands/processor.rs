//! `windlass processor`: the dispatcher that pushes jobs to idle workers, over pipes.

mod logging;

use clap::Args;
use windlass::{BootId, duration};
use windlass_stdio::{Identity, LINE_BYTES_MAX_DEFAULT, Processor, ProcessorOptions};

use super::stdio::{check_line_max, outcome, stop};
use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::typed;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Messages are one JSON object per line: {\"topic\":\"default/job_queue/add_job\",\"service_uuid\":…,\
    \"reference\":…,\"payload\":{\"uuid\":…,\"queue_name\":…}}. Each is answered on \
    default/job_queue/<topic>_reply; idle workers get job_assignment. Logs are JSON on standard error. \
    docs/processor.md has all topics."
)]
pub(crate) struct Arguments {
    /// How often maintenance runs by itself
    #[arg(long, value_name = "D", default_value = "3s")]
    tick: String,

    /// How long a job is offered before it goes back to the front [default: 3 ticks]
    #[arg(long, value_name = "D")]
    lease: Option<String>,

    /// How long a worker may be silent before its jobs go back [default: 3 ticks]
    #[arg(long, value_name = "D")]
    worker_expiry: Option<String>,

    /// The namespace of topics that come in
    #[arg(long, value_name = "NAME", default_value = "default")]
    #[arg(env = "NAMESPACE_LISTENER", hide_env_values = true)]
    listener: String,

    /// The namespace of topics that go out
    #[arg(long, value_name = "NAME", default_value = "default")]
    #[arg(env = "NAMESPACE_PUBLISHER", hide_env_values = true)]
    publisher: String,

    /// What the processor is called in envelopes
    #[arg(long, value_name = "NAME", default_value = "job_queue")]
    #[arg(env = "SERVICE_NAME", hide_env_values = true)]
    service_name: String,

    /// Its id in envelopes; made up unless said
    #[arg(long, value_name = "ID")]
    #[arg(env = "SERVICE_UUID", hide_env_values = true)]
    service_uuid: Option<String>,

    /// The machine in envelopes; this one unless said
    #[arg(long, value_name = "HOST")]
    #[arg(env = "SERVICE_HOST", hide_env_values = true)]
    service_host: Option<String>,

    /// The longest line that is read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = LINE_BYTES_MAX_DEFAULT)]
    line_max: usize,
}

/// Dispatches until standard input ends.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    check_line_max(arguments.line_max)?;
    let options = options(arguments)?;
    let settings = session.settings()?;
    let store = windlass::open(&settings.store, windlass::Existing::OrCreate).await?;
    let (log, logged) = logging::start();
    let processor = Processor::new(store, options, log)?;
    let stop = stop(session)?;
    let ended = processor
        .run(tokio::io::stdin(), tokio::io::stdout(), stop)
        .await;
    drop(processor);
    logged.finish().await;
    outcome(session, ended)
}

fn options(arguments: Arguments) -> Result<ProcessorOptions> {
    let tick = duration::parse(&arguments.tick)?;
    let made_up = || BootId::generate().to_string();
    let mut options = ProcessorOptions::new(Identity {
        service_name: arguments.service_name,
        service_uuid: arguments.service_uuid.unwrap_or_else(made_up),
        service_host: arguments.service_host.unwrap_or_else(host),
    });
    options.listener = arguments.listener;
    options.publisher = arguments.publisher;
    options.tick = tick;
    options.lease = typed::duration_or(arguments.lease.as_deref(), tick * 3)?;
    options.worker_expiry = typed::duration_or(arguments.worker_expiry.as_deref(), tick * 3)?;
    options.line_bytes_max = arguments.line_max;
    Ok(options)
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
