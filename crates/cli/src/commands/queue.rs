//! `windlass queue`: looks at queues and changes them.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass::QueueName;
use windlass_api::{Error, QueueReply};

use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

mod set;
mod show;

/// What may be typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the figures of all queues
    List,
    /// Print the figures of one queue
    Stats(Named),
    /// Stop handing out jobs; those that run go on, and new ones are still taken
    Pause(Named),
    /// Hand out jobs again
    Resume(Named),
    /// Remove all ready and scheduled jobs, for good
    Purge(Named),
    /// Change settings, or print them
    Set(set::Arguments),
}

/// A queue.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The queue
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

/// Runs the command that was typed.
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
        // A queue that went away between the two calls is no longer listed.
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
    store.pause(queue).await?;
    talk_of_new(queue, is_new, session);
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
    store.resume(queue).await?;
    talk_of_new(queue, is_new, session);
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
        output.line(&format!("{purged} jobs removed"));
    });
    Ok(Exit::Ok)
}

/// A name that was mistyped makes a queue that nobody meant: say so.
fn talk_of_new(queue: &QueueName, is_new: bool, session: &mut Session) {
    if is_new {
        let said = format!("there was no queue {queue}: it is made now");
        session.output.talk(&said);
    }
}

fn no_queue(queue: &QueueName) -> Failure {
    Failure::from(Error::queue_not_found(queue))
}
