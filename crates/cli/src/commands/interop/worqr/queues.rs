//! Queues are looked at, and deleted.

use clap::Args;
use serde::Serialize;

use super::place::Place;
use super::reply::TaskReply;
use crate::exit::{Exit, Result};
use crate::session::Session;

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    place: Place,
}

/// A queue.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The queue
    queue: String,

    #[command(flatten)]
    place: Place,
}

/// What may be typed.
#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    named: Named,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
}

#[derive(Debug, Serialize)]
struct CountReply<'a> {
    queue: &'a str,
    count: u64,
}

#[derive(Debug, Serialize)]
struct DeleteReply<'a> {
    queue: &'a str,
    deleted: u64,
}

#[derive(Debug, Serialize)]
struct RequestReply<'a> {
    queue: &'a str,
    waiting: u64,
}

/// All queues, with what waits there.
pub(crate) async fn queues(arguments: Queues, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let queues = worqr.queues().await?;
    let mut reply = Vec::new();
    for queue in &queues {
        let count = worqr.count(queue).await?;
        reply.push(CountReply { queue, count });
    }
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no queue has tasks");
        }
        let row = |one: &CountReply<'_>| vec![one.queue.to_owned(), one.count.to_string()];
        output.table(&["queue", "count"], reply.iter().map(row).collect());
    });
    Ok(Exit::Ok)
}

/// The next task.
pub(crate) async fn peek(arguments: Named, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let task = worqr.peek(&arguments.queue).await?;
    let reply = task.as_ref().map(TaskReply::new);
    session.output.result(&reply, |output| match &reply {
        Some(reply) => output.line(reply.shown()),
        None => output.note("no task waits"),
    });
    Ok(Exit::Ok)
}

/// How many wait.
pub(crate) async fn count(arguments: Named, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let queue = arguments.queue.as_str();
    let count = worqr.count(queue).await?;
    let reply = CountReply { queue, count };
    session
        .output
        .result(&reply, |output| output.line(&count.to_string()));
    Ok(Exit::Ok)
}

/// What waits.
pub(crate) async fn tasks(arguments: Tasks, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.named.place.open(session).await?;
    let limit = arguments.limit;
    // One more than wanted shows whether there are more.
    let mut tasks = worqr
        .tasks(&arguments.named.queue, limit.saturating_add(1))
        .await?;
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    let reply: Vec<_> = tasks.iter().map(TaskReply::new).collect();
    session.output.result(&reply, |output| {
        for task in &reply {
            output.line(task.shown());
        }
        match (reply.is_empty(), has_more) {
            (true, false) => output.note("no task waits"),
            (_, true) => output.note(&format!("there are more than --limit {limit}")),
            (false, false) => {}
        }
    });
    Ok(Exit::Ok)
}

/// Deletes a queue.
pub(crate) async fn delete(arguments: Named, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let queue = arguments.queue.as_str();
    let deleted = worqr.delete_queue(queue).await?;
    let reply = DeleteReply { queue, deleted };
    session.output.result(&reply, |output| {
        output.line(&format!("{deleted} tasks deleted"));
    });
    Ok(Exit::Ok)
}

/// Tells the workers what waits.
pub(crate) async fn request_work(arguments: Named, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.place.open(session).await?;
    let queue = arguments.queue.as_str();
    let waiting = worqr.request_work(queue).await?;
    let reply = RequestReply { queue, waiting };
    session.output.result(&reply, |output| {
        output.line(&format!("{waiting} tasks wait"));
    });
    Ok(Exit::Ok)
}
