//! Starts and stops serving queues.

use clap::Args;
use serde::Serialize;

use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// A worker and a queue.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Queue name
    queue: String,

    /// Worker id
    #[arg(long, value_name = "ID")]
    worker: String,

    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct StartReply<'a> {
    worker: &'a str,
    queue: &'a str,
    waiting: u64,
}

#[derive(Debug, Serialize)]
struct StopReply<'a> {
    worker: &'a str,
    queue: &'a str,
    returned: u64,
}

/// Makes a worker serve a queue.
pub(crate) async fn start(arguments: Serve, session: &mut Session) -> Result<Exit> {
    let (worker, queue) = (&arguments.worker, &arguments.queue);
    let worqr = arguments.target.open(session).await?;
    let waiting = worqr.start_work(worker, queue).await?;
    let reply = StartReply {
        worker,
        queue,
        waiting,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("serving {queue}; {waiting} tasks waiting"));
    });
    Ok(Exit::Ok)
}

/// Stops a worker serving a queue.
pub(crate) async fn stop(arguments: Serve, session: &mut Session) -> Result<Exit> {
    let (worker, queue) = (&arguments.worker, &arguments.queue);
    let worqr = arguments.target.open(session).await?;
    let returned = worqr.stop_work(worker, queue).await?;
    let reply = StopReply {
        worker,
        queue,
        returned,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{returned} tasks returned"));
    });
    Ok(Exit::Ok)
}
