//! `windlass queue`: shows and changes queues.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass::{OpenMode, QueueName, Store};
use windlass_api::request::{
    ClearError, Errors, History, Pause, Purge, QueueRequest, Queues, Resume, Stats,
};
use windlass_api::{Error, QueueReply};

use super::confirm::{ConfirmArgs, Plan};
use super::hint;
use super::verb::{self, OnQueue, OnQueues};
use crate::exit::{Exit, Result};
use crate::session::Session;

mod delete;
mod errors;
mod history;
mod set;
mod show;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the stats of all queues
    List,
    /// Print the stats of a queue; of all queues, as `windlass queue list`
    #[command(override_usage = "windlass queue stats [OPTIONS] <QUEUE>|--all-queues")]
    Stats(OnQueues<Stats>),
    /// Print what happened in a queue, minute by minute
    #[command(
        after_help = "The columns p50 and p99 are how long jobs had waited when they were claimed. The last minute is not over.\n\nExample:\n  windlass queue history mail --minutes 30"
    )]
    History(OnQueue<History>),
    /// Pause a queue: claims get no jobs; running jobs continue and enqueue still works
    Pause(OnQueue<Pause>),
    /// Resume a paused queue, or one that a snooze lets rest
    Resume(OnQueue<Resume>),
    /// List the errors of failed attempts in groups, the one seen last first
    #[command(
        after_help = "A group has the errors of one kind of job whose messages are equal except for numbers, ids and quoted texts. 24H is \
        how often it was seen in the last 24 hours by the clock.\n\nExample:\n  windlass queue errors mail"
    )]
    Errors(OnQueue<Errors>),
    /// Delete a group of errors, for example after a fix; its jobs stay as they are
    #[command(after_help = "Example:\n  windlass queue clear-error mail 8515c8235eb87a72")]
    ClearError(OnQueue<ClearError>),
    /// Permanently delete all waiting jobs of a queue
    #[command(
        after_help = "Examples:\n  windlass queue purge mail --dry-run\n  windlass queue purge mail --yes"
    )]
    Purge(PurgeArgs),
    /// Delete a queue with all its jobs and settings
    Delete(delete::Arguments),
    /// Print or change the settings of a queue
    Set(set::Arguments),
}

/// Arguments of `purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    purge: OnQueue<Purge>,

    #[command(flatten)]
    confirm: ConfirmArgs,
}

#[derive(Debug, Serialize)]
struct PauseReply {
    queue: String,
    paused: bool,
}

#[derive(Debug, Serialize)]
struct PurgeReply<'a> {
    queue: &'a str,
    purged: u64,
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::List => verb::run_on_store(Queues {}, session).await,
        Command::Stats(arguments) => match arguments.on_one() {
            Some(one) => verb::run(one, session).await,
            None => verb::run_on_store(Queues {}, session).await,
        },
        Command::History(arguments) => verb::run(arguments, session).await,
        Command::Pause(arguments) => {
            set_paused(arguments, OpenMode::CreateIfMissing, session).await
        }
        Command::Resume(arguments) => set_paused(arguments, OpenMode::MustExist, session).await,
        Command::Errors(arguments) => verb::run(arguments, session).await,
        Command::ClearError(arguments) => verb::run(arguments, session).await,
        Command::Purge(arguments) => purge(arguments, session).await,
        Command::Delete(arguments) => delete::run(arguments, session).await,
        Command::Set(arguments) => set::run(arguments, session).await,
    }
}

/// Pauses or resumes a queue.
async fn set_paused<R>(arguments: OnQueue<R>, mode: OpenMode, session: &mut Session) -> Result<Exit>
where
    R: QueueRequest<Reply = QueueReply> + Args,
{
    let OnQueue { queue, request } = arguments;
    let store = windlass::open(&session.persistent_store_url()?, mode).await?;
    let is_new = store.stats(&queue).await?.is_none();
    let QueueReply {
        queue: name,
        paused,
        ..
    } = request.execute(store.as_ref(), &queue).await?;
    note_if_new(store.as_ref(), &queue, is_new, session).await;
    let reply = PauseReply {
        queue: name,
        paused,
    };
    session.output.result(&reply, |output| {
        output.line(if paused { "paused" } else { "resumed" });
    });
    Ok(Exit::Ok)
}

async fn purge(arguments: PurgeArgs, session: &mut Session) -> Result<Exit> {
    let queue = &arguments.purge.queue;
    let store = session.store().await?;
    let stats = store.stats(queue).await?;
    let stats = stats.ok_or_else(|| Error::queue_not_found(queue))?;
    let plan = Plan {
        verb: Purge::OP,
        which: "waiting".to_owned(),
        kind: None,
        is_filtered: false,
        counts: vec![(queue.clone(), stats.waiting())],
        all_queues: false,
        and: "",
    };
    if let Some(exit) = arguments.confirm.stops(&plan, session)? {
        return Ok(exit);
    }
    let mut purged = 0;
    loop {
        match store.purge(queue).await? {
            0 => break,
            page => purged += page,
        }
    }
    let reply = PurgeReply {
        queue: queue.as_str(),
        purged,
    };
    session.output.result(&reply, |output| {
        output.line(&format!("{purged} jobs deleted"));
    });
    Ok(Exit::Ok)
}

/// Notes that a queue was created, since a typing error in its name creates an unwanted one.
pub(super) async fn note_if_new(
    store: &dyn Store,
    queue: &QueueName,
    is_new: bool,
    session: &mut Session,
) {
    if !is_new || session.global.json {
        return;
    }
    let note = match hint::typing_error(store, queue).await {
        Some(hint) => format!("{hint} To undo, run `windlass queue delete {queue}`"),
        None => format!("queue {queue} did not exist and was created"),
    };
    session.output.note(&note);
}
