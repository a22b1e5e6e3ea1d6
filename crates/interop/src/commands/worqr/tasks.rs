//! Enqueues and cancels tasks, and shows and deletes queues.

use std::ffi::OsString;

use clap::Subcommand;
use windlass::Bytes;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::input::bytes_or_stdin;
use windlass_terminal::session::Session;

use super::{QueueArguments, Target, task};
use crate::commands::print::{self, Object, shown};
use crate::worqr::UniqueEnqueued;

/// Commands about queues and waiting tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Add one or more tasks to a queue
    Enqueue {
        /// Queue name
        queue: String,

        /// Tasks, in order; `-` reads one from stdin. Put `--` before a task that starts with a hyphen
        #[arg(required = true)]
        task: Vec<OsString>,

        /// Only if the same task is neither waiting nor in progress, in any queue
        #[arg(long)]
        unique: bool,

        #[command(flatten)]
        target: Target,
    },
    /// Remove every copy of a task from a queue, and notify workers that run it
    Cancel {
        /// Queue name
        queue: String,

        /// Task; `-` reads stdin
        #[arg(allow_hyphen_values = true)]
        task: OsString,

        #[command(flatten)]
        target: Target,
    },
    /// List the queues that have tasks
    Queues {
        #[command(flatten)]
        target: Target,
    },
    /// Show the next task without taking it
    Peek(QueueArguments),
    /// Show the number of waiting tasks
    Count(QueueArguments),
    /// List the waiting tasks, newest first
    Tasks {
        #[command(flatten)]
        queue: QueueArguments,

        /// Maximum number of tasks
        #[arg(long, value_name = "N", default_value_t = 1000)]
        limit: usize,
    },
    /// Delete a queue with its waiting tasks
    Delete(QueueArguments),
}

impl Command {
    pub(super) async fn run(self, session: &mut Session) -> Result<Exit> {
        match self {
            Self::Enqueue {
                queue,
                task,
                unique,
                target,
            } => enqueue(&queue, task, unique, target, session).await,
            Self::Cancel {
                queue,
                task,
                target,
            } => {
                let task = bytes_or_stdin(task)?;
                let worqr = target.open(session).await?;
                let cancelled = worqr.cancel_tasks(&queue, task).await?;
                let line = format!("{cancelled} copies removed");
                counted(session, queue, "cancelled", cancelled, line)
            }
            Self::Queues { target } => queues(target, session).await,
            Self::Peek(queue) => {
                let (worqr, queue) = queue.open(session).await?;
                let next = worqr.peek(&queue).await?;
                let reply = next.map(|next| Object(vec![task(&next)]));
                session.output.result(&reply, |output| match &reply {
                    Some(reply) => output.line(&shown(&reply.0[0])),
                    None => output.note("no task available"),
                });
                Ok(Exit::Ok)
            }
            Self::Count(queue) => {
                let (worqr, queue) = queue.open(session).await?;
                let count = worqr.count(&queue).await?;
                counted(session, queue, "count", count, count.to_string())
            }
            Self::Tasks { queue, limit } => tasks(queue, limit, session).await,
            Self::Delete(queue) => {
                let (worqr, queue) = queue.open(session).await?;
                let deleted = worqr.delete_queue(&queue).await?;
                let line = format!("{deleted} tasks deleted");
                counted(session, queue, "deleted", deleted, line)
            }
        }
    }
}

/// Prints a queue and a number.
pub(super) fn counted(
    session: &mut Session,
    queue: String,
    name: &'static str,
    count: u64,
    line: String,
) -> Result<Exit> {
    let fields = [("queue", queue.into()), (name, count.into())];
    print::reply(session, fields, line)
}

async fn enqueue(
    queue: &str,
    tasks: Vec<OsString>,
    is_unique: bool,
    target: Target,
    session: &mut Session,
) -> Result<Exit> {
    if is_unique && tasks.len() > 1 {
        return Err(CliError::usage(
            "--unique accepts only one task",
            "enqueue unique tasks one by one",
        ));
    }
    let tasks = tasks.into_iter().map(bytes_or_stdin);
    let mut tasks: Vec<Bytes> = tasks.collect::<Result<_>>()?;
    let worqr = target.open(session).await?;
    let (enqueued, is_duplicate) = match tasks.pop() {
        Some(task) if is_unique => match worqr.enqueue_unique(queue, task).await? {
            UniqueEnqueued::Added => (1, false),
            UniqueEnqueued::Duplicate => (0, true),
        },
        last => {
            tasks.extend(last);
            (worqr.enqueue_many(queue, tasks).await?, false)
        }
    };
    let line = if is_duplicate {
        "the same task is already waiting or in progress".to_owned()
    } else {
        format!("{enqueued} tasks enqueued")
    };
    let fields = [
        ("queue", queue.into()),
        ("enqueued", enqueued.into()),
        ("duplicate", is_duplicate.into()),
    ];
    print::reply(session, fields, line)
}

/// Lists all queues with their number of waiting tasks.
async fn queues(target: Target, session: &mut Session) -> Result<Exit> {
    let worqr = target.open(session).await?;
    let mut reply = Vec::new();
    for queue in worqr.queues().await? {
        let count = worqr.count(&queue).await?;
        reply.push(Object(vec![
            ("queue", queue.into()),
            ("count", count.into()),
        ]));
    }
    let row = |one: &Object| one.0.iter().map(shown).collect();
    print::table(
        session,
        &reply,
        "no queues with tasks",
        &["queue", "count"],
        row,
    )
}

/// Lists the waiting tasks.
async fn tasks(queue: QueueArguments, limit: usize, session: &mut Session) -> Result<Exit> {
    let (worqr, queue) = queue.open(session).await?;
    // One more than the limit, to detect whether there are more.
    let mut tasks = worqr.tasks(&queue, limit.saturating_add(1)).await?;
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    let reply: Vec<_> = tasks.iter().map(|one| Object(vec![task(one)])).collect();
    session.output.result(&reply, |output| {
        for one in &reply {
            output.line(&shown(&one.0[0]));
        }
        match (reply.is_empty(), has_more) {
            (true, false) => output.note("no task available"),
            (_, true) => output.note(&format!("more tasks exist; increase --limit {limit}")),
            (false, false) => {}
        }
    });
    Ok(Exit::Ok)
}
