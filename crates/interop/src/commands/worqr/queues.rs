//! Shows and deletes queues.

use clap::Args;
use serde::Serialize;

use super::reply::TaskReply;
use super::target::Target;
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// Arguments of `queues`.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    #[command(flatten)]
    target: Target,
}

/// Arguments of commands on one queue.
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// Queue name
    queue: String,

    #[command(flatten)]
    target: Target,
}

/// Arguments of `tasks`.
#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    queue: QueueArguments,

    /// Maximum number of tasks
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

/// Lists all queues with their number of waiting tasks.
pub(crate) async fn queues(arguments: Queues, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let queues = worqr.queues().await?;
    let mut reply = Vec::new();
    for queue in &queues {
        let count = worqr.count(queue).await?;
        reply.push(CountReply { queue, count });
    }
    session.output.result(&reply, |output| {
        if reply.is_empty() {
            output.note("no queues with tasks");
        }
        let row = |one: &CountReply<'_>| vec![one.queue.to_owned(), one.count.to_string()];
        output.table(&["queue", "count"], reply.iter().map(row).collect());
    });
    Ok(Exit::Ok)
}

/// Shows the next task.
pub(crate) async fn peek(arguments: QueueArguments, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let task = worqr.peek(&arguments.queue).await?;
    let reply = task.as_ref().map(TaskReply::new);
    session.output.result(&reply, |output| match &reply {
        Some(reply) => output.line(reply.shown()),
        None => output.note("no task available"),
    });
    Ok(Exit::Ok)
}

/// Shows the number of waiting tasks.
pub(crate) async fn count(arguments: QueueArguments, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let queue = arguments.queue.as_str();
    let count = worqr.count(queue).await?;
    let reply = CountReply { queue, count };
    session
        .output
        .result(&reply, |output| output.line(&count.to_string()));
    Ok(Exit::Ok)
}

/// Lists the waiting tasks.
pub(crate) async fn tasks(arguments: Tasks, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.queue.target.open(session).await?;
    let limit = arguments.limit;
    // One more than the limit, to detect whether there are more.
    let mut tasks = worqr
        .tasks(&arguments.queue.queue, limit.saturating_add(1))
        .await?;
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    let reply: Vec<_> = tasks.iter().map(TaskReply::new).collect();
    session.output.result(&reply, |output| {
        for task in &reply {
            output.line(task.shown());
        }
        match (reply.is_empty(), has_more) {
            (true, false) => output.note("no task available"),
            (_, true) => output.note(&format!("more tasks exist; increase --limit {limit}")),
            (false, false) => {}
        }
    });
    Ok(Exit::Ok)
}

/// Deletes a queue.
pub(crate) async fn delete(arguments: QueueArguments, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let queue = arguments.queue.as_str();
    let deleted = worqr.delete_queue(queue).await?;
    let reply = DeleteReply { queue, deleted };
    session.output.result(&reply, |output| {
        output.line(&format!("{deleted} tasks deleted"));
    });
    Ok(Exit::Ok)
}

/// Notifies the workers of waiting tasks.
pub(crate) async fn request_work(arguments: QueueArguments, session: &mut Session) -> Result<Exit> {
    let worqr = arguments.target.open(session).await?;
    let queue = arguments.queue.as_str();
    let waiting = worqr.request_work(queue).await?;
    let reply = RequestReply { queue, waiting };
    session.output.result(&reply, |output| {
        output.line(&format!("{waiting} tasks waiting"));
    });
    Ok(Exit::Ok)
}
