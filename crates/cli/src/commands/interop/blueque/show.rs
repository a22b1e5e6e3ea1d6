//! What is there: a task, the listeners of a queue, all queues.

use clap::Args;
use serde::Serialize;
use windlass::{Error, ErrorKind};

use super::place::Place;
use super::reply;
use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The task
    id: String,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Listeners {
    /// The queue
    queue: String,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct ListenerReply {
    listener: String,
    host: Option<String>,
    pid: Option<i64>,
    tasks: u64,
    /// `null` for an original, which gives no sign of life.
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

/// Nobody knows this task.
pub(super) fn no_task(id: &str) -> CliError {
    Error::new(
        ErrorKind::NotFound,
        format!("there is no task {id}"),
        "look whether the id and --layout are right, and whether it was deleted",
    )
    .into()
}

/// Shows a task.
pub(crate) async fn get(arguments: Get, session: &mut Session) -> Result<Exit> {
    let blueque = arguments.place.open(session).await?;
    let task = blueque.get_task(&arguments.id).await?;
    let task = task.ok_or_else(|| no_task(&arguments.id))?;
    reply::print(session, Some(&task));
    Ok(Exit::Ok)
}

/// Shows who listens.
pub(crate) async fn listeners(arguments: Listeners, session: &mut Session) -> Result<Exit> {
    let queue = arguments.place.queue(&arguments.queue, session).await?;
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
            output.note("nobody listens");
        }
        let row = |one: &ListenerReply| {
            let life = match one.is_alive {
                Some(true) => "alive",
                Some(false) => "silent",
                None => "unknown",
            };
            vec![one.listener.clone(), one.tasks.to_string(), life.to_owned()]
        };
        output.table(
            &["listener", "tasks", "life"],
            reply.iter().map(row).collect(),
        );
    });
    Ok(Exit::Ok)
}

/// Shows all queues.
pub(crate) async fn queues(arguments: Queues, session: &mut Session) -> Result<Exit> {
    let blueque = arguments.place.open(session).await?;
    let mut reply = Vec::new();
    for name in blueque.queues().await? {
        let figures = blueque.queue(&name)?.figures().await?;
        reply.push(QueueReply {
            queue: name,
            listeners: figures.listeners,
            pending: figures.pending,
            scheduled: figures.scheduled,
            started: figures.started,
            complete: figures.complete,
            failed: figures.failed,
        });
    }
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("there are no queues");
        }
        let row = |one: &QueueReply| {
            let figures = [one.listeners, one.pending, one.scheduled, one.started];
            let ends = [one.complete, one.failed];
            let figures = figures.iter().chain(&ends).map(u64::to_string);
            [one.queue.clone()].into_iter().chain(figures).collect()
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
