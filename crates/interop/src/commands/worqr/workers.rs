//! Starts workers and keeps them alive.

use crate::worqr::{HEARTBEAT, Lifetime, TIMEOUT, WorkerOptions, Worqr};
use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};

use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::parse;
use windlass_terminal::session::Session;

/// Arguments of `start-worker`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --stay the worker stays alive for --timeout, and longer if keep-alive is \
    called in time. With --stay this command keeps it alive until stopped, and then returns its \
    tasks."
)]
pub(crate) struct StartWorker {
    /// Worker id
    worker: String,

    /// How long the worker stays alive without a heartbeat [default: 3s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    /// No timeout: the worker stays alive until it is failed
    #[arg(long, conflicts_with = "timeout")]
    permanent: bool,

    /// Keep it alive until Ctrl-C, and clean up after other dead workers meanwhile
    #[arg(long)]
    stay: bool,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `keep-alive`.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 4: the timer ran out, and the worker must be started again.")]
pub(crate) struct KeepAlive {
    /// Worker id
    worker: String,

    /// How long the worker stays alive from now [default: 3s]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    timeout: Option<String>,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `workers`.
#[derive(Debug, Args)]
pub(crate) struct Workers {
    #[command(flatten)]
    target: Target,
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
    let worqr = arguments.target.open(session).await?;
    if arguments.stay {
        return stay(worqr, arguments.worker, lifetime, session).await;
    }
    worqr.start_worker(&arguments.worker, lifetime).await?;
    print_worker(session, arguments.worker, "alive");
    Ok(Exit::Ok)
}

/// Keeps a worker alive until it fails or this command is stopped.
async fn stay(worqr: Worqr, id: String, lifetime: Lifetime, session: &mut Session) -> Result<Exit> {
    let heartbeat = match lifetime {
        // Three heartbeats per timeout, like the original.
        Lifetime::Expiring(timeout) => (timeout / 3).min(HEARTBEAT),
        Lifetime::Permanent => HEARTBEAT,
    };
    let options = WorkerOptions {
        id: Some(id.clone()),
        lifetime,
        heartbeat,
        ..WorkerOptions::default()
    };
    let mut signals = session.signals()?;
    let worker = worqr.join(options).await?;
    print_worker(session, id.clone(), "alive; press Ctrl-C to stop");
    tokio::select! {
        () = worker.failed() => Err(timer_ran_out(&id)),
        () = signals.next() => {
            worker.leave().await?;
            Ok(Exit::Ok)
        }
    }
}

/// Keeps a worker alive.
pub(crate) async fn keep_alive(arguments: KeepAlive, session: &mut Session) -> Result<Exit> {
    let timeout = parse::duration_or(arguments.timeout.as_deref(), TIMEOUT)?;
    let worqr = arguments.target.open(session).await?;
    if !worqr.keep_worker_alive(&arguments.worker, timeout).await? {
        return Err(timer_ran_out(&arguments.worker));
    }
    print_worker(session, arguments.worker, "alive");
    Ok(Exit::Ok)
}

/// Lists the workers.
pub(crate) async fn list(arguments: Workers, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let workers = worqr.workers().await?.into_iter();
    let reply: Vec<_> = workers.map(|worker| WorkerReply { worker }).collect();
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no workers");
        }
        for one in &reply {
            output.line(&one.worker);
        }
    });
    Ok(Exit::Ok)
}

fn print_worker(session: &mut Session, worker: String, line: &str) {
    let reply = WorkerReply { worker };
    session.output.result(&reply, |output| output.line(line));
}

fn timer_ran_out(worker: &str) -> CliError {
    Error::new(
        ErrorKind::Conflict,
        format!("worker {worker} is not alive: its timer ran out"),
        "start it again; its tasks are returned to their queues",
    )
    .into()
}
