//! `windlass interop redis-work-queue`: one command per operation.

mod clean;
mod items;

use clap::{Args, Subcommand};
use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::print::{self, Field, Object};
use super::server;
use crate::redis_work_queue::{WorkQueue, WorkQueueLayout};

/// One subcommand per operation.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Items(items::Command),
    /// Show the number of waiting items
    Len(Target),
    /// Show the number of items held by workers or abandoned
    Processing(Target),
    /// Show the numbers of waiting and of held items, read atomically
    Counts(Target),
    /// Return abandoned items to the queue, once or periodically
    Clean(clean::Arguments),
}

/// The flags that all commands have.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Key prefix of the queue, without the trailing colon
    #[arg(long, value_name = "P")]
    prefix: String,

    /// Version of the other clients: 0.1 for the newest Python and Node packages, 0.3 for the newest crate and Go
    /// module; they do not see each other's leases
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    layout: WorkQueueLayout,
}

impl Target {
    async fn open(&self, session: &Session) -> Result<WorkQueue> {
        let server = server(session).await?;
        Ok(WorkQueue::new(server, &self.prefix, self.layout))
    }
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    let counts = match command {
        Command::Items(command) => return command.run(session).await,
        Command::Clean(arguments) => return clean::run(arguments, session).await,
        Command::Len(target) => {
            let length = target.open(session).await?.queue_len().await?;
            vec![("queue", length.into())]
        }
        Command::Processing(target) => {
            let length = target.open(session).await?.processing().await?;
            vec![("processing", length.into())]
        }
        Command::Counts(target) => {
            let counts = target.open(session).await?.counts().await?;
            vec![
                ("queue", counts.queue.into()),
                ("processing", counts.processing.into()),
            ]
        }
    };
    let counts = Object(counts);
    session.output.result(&counts, |output| {
        let row = |field: &Field| (field.0, Some(print::shown(field)));
        output.fields(counts.0.iter().map(row).collect());
    });
    Ok(Exit::Ok)
}
