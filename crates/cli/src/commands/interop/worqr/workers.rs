//! Workers begin to live, and stay alive.

use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};
use windlass_interop::worqr::{BEAT, Lifetime, TIMEOUT, WorkerOptions, Worqr};

use super::place::Place;
use crate::exit::{CliError, Exit, Result};
use crate::parse;
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --stay the worker lives for --timeout, and longer when keep-alive is \
    called in time. With --stay this command keeps it alive until it is ended, and then puts back \
    what the worker has in progress."
)]
pub(crate) struct StartWorker {
    /// The worker's id
    worker: String,

    /// How long it lives without a sign of life [default: 3s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    /// It lives for good, until it is failed
    #[arg(long, conflicts_with = "timeout")]
    permanent: bool,

    /// Keep it alive until Ctrl-C, and clean up after those that die meanwhile
    #[arg(long)]
    stay: bool,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
#[command(after_help = "Exit 4: it failed to stay alive, and must be started again.")]
pub(crate) struct KeepAlive {
    /// The worker
    worker: String,

    /// How long it lives from now on [default: 3s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Workers {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct WorkerReply {
    worker: String,
}

/// Starts a worker.
pub(crate) async fn start(arguments: StartWorker, session: &mut Session) -> Result<Exit> {
    let lifetime = if arguments.permanent {
        Lifetime::Permanent
    } else {
        Lifetime::Expiring(parse::duration_or(arguments.timeout.as_deref(), TIMEOUT)?)
    };
    let worqr = arguments.place.open(session).await?;
    if arguments.stay {
        return stay(worqr, arguments.worker, lifetime, session).await;
    }
    worqr.start_worker(&arguments.worker, lifetime).await?;
    told(session, arguments.worker, "it lives");
    Ok(Exit::Ok)
}

/// Keeps a worker alive until it fails or this command is ended.
async fn stay(worqr: Worqr, id: String, lifetime: Lifetime, session: &mut Session) -> Result<Exit> {
    let beat = match lifetime {
        // As the original: three beats to a timer.
        Lifetime::Expiring(timeout) => (timeout / 3).min(BEAT),
        Lifetime::Permanent => BEAT,
    };
    let options = WorkerOptions {
        id: Some(id.clone()),
        lifetime,
        beat,
        ..WorkerOptions::default()
    };
    let mut signals = session.signals()?;
    let worker = worqr.join(options).await?;
    told(session, id.clone(), "it lives until Ctrl-C");
    tokio::select! {
        () = worker.failed() => Err(died(&id)),
        () = signals.next() => {
            worker.leave().await?;
            Ok(Exit::Ok)
        }
    }
}

/// Keeps a worker alive.
pub(crate) async fn keep_alive(arguments: KeepAlive, session: &mut Session) -> Result<Exit> {
    let timeout = parse::duration_or(arguments.timeout.as_deref(), TIMEOUT)?;
    let worqr = arguments.place.open(session).await?;
    if !worqr.keep_worker_alive(&arguments.worker, timeout).await? {
        return Err(died(&arguments.worker));
    }
    told(session, arguments.worker, "it lives");
    Ok(Exit::Ok)
}

/// Shows the workers.
pub(crate) async fn list(arguments: Workers, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let workers = worqr.workers().await?.into_iter();
    let reply: Vec<_> = workers.map(|worker| WorkerReply { worker }).collect();
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("there are no workers");
        }
        for one in &reply {
            output.line(&one.worker);
        }
    });
    Ok(Exit::Ok)
}

fn told(session: &mut Session, worker: String, line: &str) {
    let reply = WorkerReply { worker };
    session.output.result(&reply, |output| output.line(line));
}

fn died(worker: &str) -> CliError {
    Error::new(
        ErrorKind::Conflict,
        format!("worker {worker} failed to stay alive: its timer ran out"),
        "start it again; what it had in progress goes back",
    )
    .into()
}
