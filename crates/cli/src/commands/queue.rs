//! `windlass queue`: looks at queues and changes them.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass::{QueueName, Setting};
use windlass_api::{Problem, QueueReply, SettingsReply};

use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

mod show;

/// What may be typed.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The figures of all queues
    List,
    /// The figures of one queue
    Stats(Named),
    /// Stop handing out jobs
    Pause(Named),
    /// Hand out jobs again
    Resume(Named),
    /// Remove all ready and scheduled jobs
    Purge(Named),
    /// Change settings, or see them
    Set(SetArguments),
}

/// A queue.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The queue
    queue: String,
}

/// Settings of a queue.
#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// The queue
    queue: String,

    /// What to change; without any the settings are shown
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
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
        Command::Set(arguments) => set(arguments, session).await,
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
    session.store_or_create().await?.pause(queue).await?;
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
    session.store().await?.resume(queue).await?;
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

async fn set(arguments: SetArguments, session: &mut Session) -> Result<Exit> {
    let queue = QueueName::new(&arguments.queue)?;
    let settings: Result<Vec<Setting>, _> =
        arguments.pairs.iter().map(|pair| pair.parse()).collect();
    let settings = settings?;
    let settings = if settings.is_empty() {
        session.store().await?.settings(&queue).await?
    } else {
        session
            .store_or_create()
            .await?
            .set(&queue, settings)
            .await?
    };
    let reply = SettingsReply::new(&queue, &settings);
    session.output.result(&reply, |output| {
        let row = |setting: Setting| vec![setting.name().to_owned(), setting.value().to_owned()];
        output.table(
            &["setting", "value"],
            settings.all().into_iter().map(row).collect(),
        );
    });
    Ok(Exit::Ok)
}

fn no_queue(queue: &QueueName) -> Failure {
    Failure::new(Exit::NotFound, Problem::no_queue(queue))
}
