//! `windlass interop bridge`: carries work of an older system over into a queue.

use clap::Args;
use serde::Serialize;
use windlass::{OpenMode, QueueName};
use windlass_interop::bridge::{Bridge, Carried, From};
use windlass_interop::{Server, blueque, redis_work_queue, worqr};

use crate::exit::{CliError, Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Work is taken as any worker of the older system takes it, enqueued under its own \
    id, and only then finished there: a bridge that is killed loses nothing.\n\n\
    Example:\n  windlass interop bridge --from redis-work-queue:mail --to mail --follow"
)]
pub(crate) struct Arguments {
    /// Where from: redis-work-queue:PREFIX, worqr:QUEUE or blueque:QUEUE
    #[arg(long, value_name = "SYSTEM:NAME")]
    from: String,

    /// The queue of Windlass that takes it
    #[arg(long, value_name = "QUEUE")]
    to: String,

    /// The server of the older system [default: the store, where that is Redis]
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    /// Which names its keys have: 0.1 or 0.3 for redis-work-queue [default: 0.3]; released or
    /// document for the others [default: released]
    #[arg(long, value_name = "L")]
    layout: Option<String>,

    /// What Worqr's keys begin with [default: worqr; nothing for the document's layout]
    #[arg(long, value_name = "P")]
    prefix: Option<String>,

    /// Go on until Ctrl-C instead of ending when nothing is left
    #[arg(long)]
    follow: bool,
}

/// What was carried over, in print.
#[derive(Debug, Serialize)]
struct Report {
    carried: u64,
    duplicates: u64,
    refused: Vec<Refused>,
}

/// What the queue does not take.
#[derive(Debug, Serialize)]
struct Refused {
    id: String,
    error: String,
}

/// Carries over until nothing is left, or until it is told to stop.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.to)?;
    let from = from(&arguments)?;
    let url = session.persistent_store_url()?;
    let server = match &arguments.server {
        Some(url) => Server::open(url).await?,
        None => super::server(session).await?,
    };
    let store = windlass::open(&url, OpenMode::CreateIfMissing).await?;
    let mut signals = session.signals()?;
    let mut bridge = Bridge::open(&server, from, store, queue).await?;
    let ended = tokio::select! {
        ended = work(&mut bridge, arguments.follow, &mut session.output) => ended,
        () = signals.next() => Ok(()),
    };
    // Also after trouble: what it holds is wanted back.
    let left = bridge.close().await;
    ended?;
    let carried = left?;
    let exit = if carried.refused.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    };
    print(session, carried);
    Ok(exit)
}

async fn work(
    bridge: &mut Bridge,
    is_following: bool,
    output: &mut Output,
) -> windlass::Result<()> {
    if is_following {
        output.note("following; end it with Ctrl-C");
        let told = |error: &windlass::Error| output.note(&format!("{error}; trying again"));
        bridge.follow(told).await
    } else {
        bridge.drain().await
    }
}

fn print(session: &mut Session, carried: Carried) {
    let refused = carried.refused.into_iter().map(|(id, error)| Refused {
        id,
        error: error.to_string(),
    });
    let report = Report {
        carried: carried.carried,
        duplicates: carried.duplicates,
        refused: refused.collect(),
    };
    session.output.result(&report, |output| {
        output.line(&format!(
            "{} carried over, {} were there already",
            report.carried, report.duplicates
        ));
        for refused in &report.refused {
            output.note(&format!("{} stays: {}", refused.id, refused.error));
        }
    });
}

fn from(arguments: &Arguments) -> Result<From> {
    let Some((system, name)) = arguments.from.split_once(':') else {
        return Err(unknown("--from", &arguments.from));
    };
    let layout = arguments.layout.as_deref();
    let is_document = || match layout {
        None | Some("released") => Ok(false),
        Some("document") => Ok(true),
        Some(other) => Err(unknown("--layout", other)),
    };
    match system {
        "redis-work-queue" => Ok(From::RedisWorkQueue {
            prefix: name.to_owned(),
            layout: match layout {
                None | Some("0.3") => redis_work_queue::Layout::V03,
                Some("0.1") => redis_work_queue::Layout::V01,
                Some(other) => return Err(unknown("--layout", other)),
            },
        }),
        "worqr" => {
            let prefix = |default: &str| arguments.prefix.clone().unwrap_or(default.to_owned());
            let settings = if is_document()? {
                worqr::Settings::document(prefix(""))
            } else {
                worqr::Settings::released(prefix("worqr"))
            };
            let queue = name.to_owned();
            Ok(From::Worqr { queue, settings })
        }
        "blueque" => Ok(From::Blueque {
            queue: name.to_owned(),
            layout: if is_document()? {
                blueque::Layout::Document
            } else {
                blueque::Layout::Released
            },
        }),
        _ => Err(unknown("--from", &arguments.from)),
    }
}

fn unknown(flag: &str, value: &str) -> CliError {
    CliError::usage(
        format!("{flag} does not know {value:?}"),
        "see `windlass interop bridge --help`",
    )
}
