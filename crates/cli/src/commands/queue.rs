//! `windlass queue`: shows and changes queues.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass::QueueName;
use windlass_api::{Error, QueueReply};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

mod set;
mod show;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the stats of all queues
    List,
    /// Print the stats of a queue
    Stats(Named),
    /// Pause a queue: claims get no jobs; running jobs continue and enqueue still works
    Pause(Named),
    /// Resume a paused queue
    Resume(Named),
    /// Permanently delete all ready and scheduled jobs of a queue
    Purge(Named),
    /// Print or change the settings of a queue
    Set(set::Arguments),
}

/// A queue name.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Queue name
    queue: String,
}

#[derive(Debug, Serialize)]
struct PauseReply<'a> {
    queue: &'a str,
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
        Command::List => list(session).await,
        Command::Stats(named) => stats(&QueueName::new(named.queue)?, session).await,
        Command::Pause(named) => pause(&QueueName::new(named.queue)?, session).await,
        Command::Resume(named) => resume(&QueueName::new(named.queue)?, session).await,
        Command::Purge(named) => purge(&QueueName::new(named.queue)?, session).await,
        Command::Set(arguments) => set::run(arguments, session).await,
    }
}

async fn list(session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let mut reply = Vec::new();
    for queue in store.queues().await? {
        // A queue deleted between the two calls is skipped.
        if let Some(stats) = store.stats(&queue).await? {
            reply.push(QueueReply::new(&queue, &stats));
        }
    }
    session
        .output
        .result(&reply, |output| show::list(output, &reply));
    Ok(Exit::Ok)
}

async fn stats(queue: &QueueName, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let stats = store.stats(queue).await?.ok_or_else(|| no_queue(queue))?;
    let reply = QueueReply::new(queue, &stats);
    session
        .output
        .result(&reply, |output| show::one(output, &reply));
    Ok(Exit::Ok)
}

async fn pause(queue: &QueueName, session: &mut Session) -> Result<Exit> {
    let store = session.store_or_create().await?;
    let is_new = store.stats(queue).await?.is_none();
    store.set_paused(queue, true).await?;
    note_if_new(queue, is_new, session);
    let reply = PauseReply {
        queue: queue.as_str(),
        paused: true,
    };
    session
        .output
        .result(&reply, |output| output.line("paused"));
    Ok(Exit::Ok)
}

async fn resume(queue: &QueueName, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    let is_new = store.stats(queue).await?.is_none();
    store.set_paused(queue, false).await?;
    note_if_new(queue, is_new, session);
    let reply = PauseReply {
        queue: queue.as_str(),
        paused: false,
    };
    session
        .output
        .result(&reply, |output| output.line("resumed"));
    Ok(Exit::Ok)
}

async fn purge(queue: &QueueName, session: &mut Session) -> Result<Exit> {
    let store = session.store().await?;
    if store.stats(queue).await?.is_none() {
        return Err(no_queue(queue));
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

fn no_queue(queue: &QueueName) -> CliError {
    CliError::from(Error::queue_not_found(queue))
}
