//! `windlass processor`: a dispatcher that assigns jobs to idle workers over stdin and stdout.

mod logging;

use std::time::Duration;

use clap::Args;
use windlass::store::{BootId, LeaseTime};
use windlass_api::lines::LINE_BYTES_MAX_DEFAULT;
use windlass_terminal::pipes::{check_line_max, outcome, stop};

use windlass::duration;
use windlass_terminal::env::flag_or;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use crate::processor::{Identity, Processor, ProcessorOptions, check_namespace};

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Messages are one JSON object per line: {\"topic\":\"default/job_queue/add_job\",\"service_uuid\":…,\
    \"reference\":…,\"payload\":{\"uuid\":…,\"queue_name\":…}}. Replies \
    are sent on default/job_queue/<topic>_reply, and idle workers get job_assignment. Logs are JSON on stderr. \
    See docs/processor.md for all topics."
)]
pub struct Arguments {
    /// Interval between maintenance runs
    #[arg(long, value_name = "D", default_value = "3s", value_parser = duration::parse)]
    tick: Duration,

    /// How long a job stays offered before it returns to the front of its queue [default: 3 ticks]
    #[arg(long, value_name = "D", value_parser = duration::parse)]
    lease: Option<Duration>,

    /// How long a worker may be silent before its jobs return to their queues [default: 3 ticks]
    #[arg(long, value_name = "D", value_parser = duration::parse)]
    worker_expiry: Option<Duration>,

    #[arg(long, value_name = "NAME")]
    #[arg(help = "Namespace of incoming topics [default: default] [env: NAMESPACE_LISTENER]")]
    listener: Option<String>,

    #[arg(long, value_name = "NAME")]
    #[arg(help = "Namespace of outgoing topics [default: default] [env: NAMESPACE_PUBLISHER]")]
    publisher: Option<String>,

    #[arg(long, value_name = "NAME")]
    #[arg(help = "Service name in message envelopes [default: job_queue] [env: SERVICE_NAME]")]
    service_name: Option<String>,

    #[arg(long, value_name = "ID")]
    #[arg(help = "Service id in message envelopes [default: random] [env: SERVICE_UUID]")]
    service_uuid: Option<String>,

    #[arg(long, value_name = "HOST")]
    #[arg(help = "Host name in message envelopes [default: this host] [env: SERVICE_HOST]")]
    service_host: Option<String>,

    /// Longest accepted line, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = LINE_BYTES_MAX_DEFAULT)]
    line_max: usize,
}

/// Dispatches jobs until stdin ends.
pub async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    check_line_max(arguments.line_max)?;
    let options = options(&arguments)?;
    let settings = session.settings()?;
    let store = windlass::open(&settings.store, windlass::OpenMode::CreateIfMissing).await?;
    let (log, log_writer) = logging::start();
    let processor = Processor::new(store, options, log)?;
    let stop = stop(session)?;
    let ended = processor
        .run(tokio::io::stdin(), tokio::io::stdout(), stop)
        .await;
    drop(processor);
    log_writer.finish().await;
    outcome(session, ended)
}

fn options(arguments: &Arguments) -> Result<ProcessorOptions> {
    let tick = arguments.tick;
    let mut options = ProcessorOptions::new(identity(arguments)?);
    let namespace = |name: &str| Ok(check_namespace(name).map(|()| name.to_owned())?);
    let listener = arguments.listener.as_deref();
    if let Some(name) = flag_or(listener, "NAMESPACE_LISTENER", namespace)? {
        options.listener = name;
    }
    let publisher = arguments.publisher.as_deref();
    if let Some(name) = flag_or(publisher, "NAMESPACE_PUBLISHER", namespace)? {
        options.publisher = name;
    }
    options.tick = tick;
    let expiry = arguments.lease.unwrap_or(tick * 3);
    options.lease = LeaseTime::new(expiry)?;
    let expiry = arguments.worker_expiry.unwrap_or(tick * 3);
    options.worker_expiry = LeaseTime::new(expiry)?;
    options.line_bytes_max = arguments.line_max;
    Ok(options)
}

/// Returns the identity given by the flags and environment variables.
fn identity(arguments: &Arguments) -> Result<Identity> {
    let any = |text: &str| Ok(text.to_owned());
    let id = |text: &str| Ok(BootId::new(text)?.to_string());
    let name = flag_or(arguments.service_name.as_deref(), "SERVICE_NAME", any)?;
    let uuid = flag_or(arguments.service_uuid.as_deref(), "SERVICE_UUID", id)?;
    let machine = flag_or(arguments.service_host.as_deref(), "SERVICE_HOST", any)?;
    Ok(Identity {
        service_name: name.unwrap_or_else(|| "job_queue".to_owned()),
        service_uuid: uuid.unwrap_or_else(|| BootId::generate().to_string()),
        service_host: machine.unwrap_or_else(host),
    })
}

fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}
