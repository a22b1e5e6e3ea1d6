//! `windlass interop bridge`: migrates work from an older system into a queue.

use std::time::Duration;

use crate::InteropServer;
use crate::bridge::{Bridge, BridgeReport, BridgeSource};
use crate::delayed_queue::{PREFIX, UNACKED_FOR};
use crate::processor::LEASE;
use crate::worqr::WorqrSettings;
use clap::{Args, ValueEnum};
use serde::Serialize;
use windlass::{OpenMode, QueueName};

use windlass::duration;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::output::Output;
use windlass_terminal::session::Session;

/// Arguments of `bridge`.
#[derive(Debug, Args)]
#[command(
    after_help = "The bridge takes work as any worker of the older system does, enqueues it under its own \
    id, and only then finishes it there. A bridge that is killed loses nothing.\n\n\
    Examples:\n  \
    windlass interop bridge --from redis-work-queue:mail --to mail --follow\n  \
    windlass interop bridge processor:encode --to encode\n  \
    windlass interop bridge delayed-queue --to mail"
)]
pub(crate) struct Arguments {
    /// Source: redis-work-queue:PREFIX, worqr:QUEUE, blueque:QUEUE, processor:QUEUE or delayed-queue
    #[arg(value_name = "SYSTEM:NAME", required_unless_present = "from")]
    source: Option<String>,

    /// The same as a flag
    #[arg(long, value_name = "SYSTEM:NAME", conflicts_with = "source")]
    from: Option<String>,

    /// Destination queue in the store
    #[arg(long, value_name = "QUEUE")]
    to: String,

    /// Redis server of the older system [default: the store, if it is Redis]
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// Key layout: 0.1 or 0.3 for redis-work-queue [default: 0.3]; released or document for the
    /// others [default: released]
    #[arg(long, value_name = "L")]
    layout: Option<String>,

    /// Key prefix, for Worqr [default: worqr; empty in the document layout] and delayed-queue
    #[arg(long, value_name = "P")]
    prefix: Option<String>,

    /// How long a job may show no activity until its worker is dead, for processor [default: 9s] and
    /// delayed-queue [default: 10s]
    #[arg(long, value_name = "D", allow_hyphen_values = true, value_parser = duration::parse)]
    silence: Option<Duration>,

    /// Run until Ctrl-C instead of exiting when no work is left
    #[arg(long)]
    follow: bool,
}

/// Valid sources.
const SOURCES: &str =
    "redis-work-queue:PREFIX, worqr:QUEUE, blueque:QUEUE, processor:QUEUE, delayed-queue";

/// What was migrated.
#[derive(Debug, Serialize)]
struct Report {
    migrated: u64,
    duplicates: u64,
    rejected: Vec<RejectedItem>,
}

/// An item that the queue rejected.
#[derive(Debug, Serialize)]
struct RejectedItem {
    id: String,
    error: String,
}

/// Migrates until no work is left, or until a signal arrives.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.to)?;
    let source = source(&arguments)?;
    let url = session.persistent_store_url()?;
    let server = match &arguments.server {
        Some(url) => InteropServer::open(url).await?,
        None => super::server(session).await?,
    };
    let store = windlass::open(&url, OpenMode::CreateIfMissing).await?;
    let mut signals = session.signals()?;
    let mut bridge = Bridge::open(&server, source, store, queue).await?;
    let result = tokio::select! {
        result = work(&mut bridge, arguments.follow, &mut session.output) => result,
        () = signals.next() => Ok(()),
    };
    // Also after an error, to return the items that it holds.
    let closed = bridge.close().await;
    result?;
    let report = closed?;
    let exit = if report.rejected.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    };
    print(session, report);
    Ok(exit)
}

async fn work(
    bridge: &mut Bridge,
    is_following: bool,
    output: &mut Output,
) -> windlass::Result<()> {
    if is_following {
        output.note("following the queue; press Ctrl-C to stop");
        let on_error = |error: &windlass::Error| output.note(&format!("{error}; retrying"));
        bridge.follow(on_error).await
    } else {
        bridge.drain().await
    }
}

fn print(session: &mut Session, report: BridgeReport) {
    let rejected = report.rejected.into_iter().map(|(id, error)| RejectedItem {
        id,
        error: error.to_string(),
    });
    let report = Report {
        migrated: report.migrated,
        duplicates: report.duplicates,
        rejected: rejected.collect(),
    };
    session.output.result(&report, |output| {
        output.line(&format!(
            "{} migrated, {} duplicates",
            report.migrated, report.duplicates
        ));
        for item in &report.rejected {
            output.note(&format!("item {} was rejected: {}", item.id, item.error));
        }
    });
}

fn source(arguments: &Arguments) -> Result<BridgeSource> {
    let from = arguments.source.as_ref().or(arguments.from.as_ref());
    let from = from.map_or("", String::as_str);
    let (system, name) = from.split_once(':').unwrap_or((from, ""));
    let silence = arguments.silence;
    let which = arguments.layout.as_deref();
    match system {
        "delayed-queue" if name.is_empty() => Ok(BridgeSource::DelayedQueue {
            prefix: arguments.prefix.clone().unwrap_or(PREFIX.to_owned()),
            unacked_for: silence.unwrap_or(UNACKED_FOR),
        }),
        _ if !from.contains(':') => Err(invalid("the source", from, SOURCES)),
        "processor" => Ok(BridgeSource::Processor {
            queue: name.to_owned(),
            silence: silence.unwrap_or(LEASE),
        }),
        "redis-work-queue" => Ok(BridgeSource::RedisWorkQueue {
            prefix: name.to_owned(),
            layout: layout(which)?,
        }),
        "worqr" => Ok(BridgeSource::Worqr {
            queue: name.to_owned(),
            settings: WorqrSettings::new(layout(which)?, arguments.prefix.clone()),
        }),
        "blueque" => Ok(BridgeSource::Blueque {
            queue: name.to_owned(),
            layout: layout(which)?,
        }),
        // Not the rest: it may be a URL with a password.
        _ => Err(invalid("the source", system, SOURCES)),
    }
}

/// Parses `--layout`, whose values depend on the system.
fn layout<L: ValueEnum + Default>(text: Option<&str>) -> Result<L> {
    let Some(text) = text else {
        return Ok(L::default());
    };
    L::from_str(text, false).map_err(|_| {
        let values = L::value_variants().iter().filter_map(L::to_possible_value);
        let names: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        invalid("--layout", text, &names.join(", "))
    })
}

fn invalid(flag: &str, value: &str, expected: &str) -> CliError {
    CliError::usage(
        format!("invalid value {value:?} for {flag}; expected one of: {expected}"),
        "see `windlass interop bridge --help`",
    )
}
