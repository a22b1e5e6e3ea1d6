//! `windlass queue`: shows and changes queues.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass::{OpenMode, QueueName};
use windlass_api::request::{Pause, Purge, QueueRequest, Queues, Resume, Stats};
use windlass_api::{Error, QueueReply};

use super::verb::{self, OnQueue};
use crate::exit::{Exit, Result};
use crate::session::Session;

mod set;
mod show;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the stats of all queues
    List,
    /// Print the stats of a queue
    Stats(OnQueue<Stats>),
    /// Pause a queue: claims get no jobs; running jobs continue and enqueue still works
    Pause(OnQueue<Pause>),
    /// Resume a paused queue
    Resume(OnQueue<Resume>),
    /// Permanently delete all ready and scheduled jobs of a queue
    Purge(OnQueue<Purge>),
    /// Print or change the settings of a queue
    Set(set::Arguments),
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
        Command::Stats(arguments) => verb::run(arguments, session).await,
        Command::Pause(arguments) => {
            set_paused(arguments, OpenMode::CreateIfMissing, session).await
        }
        Command::Resume(arguments) => set_paused(arguments, OpenMode::MustExist, session).await,
        Command::Purge(arguments) => purge(&arguments.queue, session).await,
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
    note_if_new(&queue, is_new, session);
    let reply = PauseReply {
        queue: name,
        paused,
    };
    session.output.result(&reply, |output| {
        output.line(if paused { "paused" } else { "resumed" });
    });
    Ok(Exit::Ok)
}

async fn purge(queue: &QueueName, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    if store.stats(queue).await?.is_none() {
        return Err(Error::queue_not_found(queue).into());
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

/// Notes that a queue was created, since a typo in its name creates an unwanted one.
fn note_if_new(queue: &QueueName, is_new: bool, session: &mut Session) {
    if is_new {
        let note = format!("queue {queue} did not exist and was created");
        session.output.note(&note);
    }
}
