//! Shows a task, the listeners of a queue, or all queues.

use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};

use super::reply;
use super::target::Target;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::session::Session;

/// Arguments of `get`.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Task id
    id: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `listeners`.
#[derive(Debug, Args)]
pub(crate) struct Listeners {
    /// Queue name
    queue: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `queues`.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct ListenerReply {
    listener: String,
    host: Option<String>,
    pid: Option<i64>,
    tasks: u64,
    /// `null` for an original, which sends no heartbeats.
    is_alive: Option<bool>,
}

#[derive(Debug, Serialize)]
struct QueueReply {
    queue: String,
    listeners: u64,
    pending: u64,
    scheduled: u64,
    started: u64,
    complete: u64,
    failed: u64,
}

/// The task does not exist.
pub(super) fn no_task(id: &str) -> CliError {
    Error::new(
        ErrorKind::NotFound,
        format!("task {id} not found"),
        "check the id and --layout; the task may have been deleted",
    )
    .into()
}

/// Shows a task.
pub(crate) async fn get(arguments: Get, session: &mut Session) -> Result<Exit> {
    let blueque = arguments.target.open(session).await?;
    let task = blueque.get_task(&arguments.id).await?;
    let task = task.ok_or_else(|| no_task(&arguments.id))?;
    reply::print(session, Some(&task));
    Ok(Exit::Ok)
}

/// Lists the listeners of a queue.
pub(crate) async fn listeners(arguments: Listeners, session: &mut Session) -> Result<Exit> {
    let queue = arguments.target.queue(&arguments.queue, session).await?;
    let known = queue.listeners().await?.into_iter();
    let reply: Vec<_> = known
        .map(|one| ListenerReply {
            listener: one.name,
            host: one.host,
            pid: one.pid,
            tasks: one.tasks,
            is_alive: one.is_alive,
        })
        .collect();
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no listeners");
        }
        let row = |one: &ListenerReply| {
            let state = match one.is_alive {
                Some(true) => "alive",
                Some(false) => "expired",
                None => "unknown",
            };
            vec![
                one.listener.clone(),
                one.tasks.to_string(),
                state.to_owned(),
            ]
        };
        output.table(
            &["listener", "tasks", "state"],
            reply.iter().map(row).collect(),
        );
    });
    Ok(Exit::Ok)
}

/// Lists all queues.
pub(crate) async fn queues(arguments: Queues, session: &mut Session) -> Result<Exit> {
    let blueque = arguments.target.open(session).await?;
    let mut reply = Vec::new();
    for name in blueque.queues().await? {
        let stats = blueque.queue(&name)?.stats().await?;
        reply.push(QueueReply {
            queue: name,
            listeners: stats.listeners,
            pending: stats.pending,
            scheduled: stats.scheduled,
            started: stats.started,
            complete: stats.complete,
            failed: stats.failed,
        });
    }
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no queues");
        }
        let row = |one: &QueueReply| {
            let open = [one.listeners, one.pending, one.scheduled, one.started];
            let ended = [one.complete, one.failed];
            let counts = open.iter().chain(&ended).map(u64::to_string);
            [one.queue.clone()].into_iter().chain(counts).collect()
        };
        let header = [
            "queue",
            "listeners",
            "pending",
            "scheduled",
            "started",
            "complete",
            "failed",
        ];
        output.table(&header, reply.iter().map(row).collect());
    });
    Ok(Exit::Ok)
}
