//! `windlass interop`: clients for older systems, on their own keys.

pub(crate) mod blueque;
mod bridge;
pub(crate) mod delayed_queue;
mod inspect;
pub(crate) mod redis_work_queue;
mod runner;
pub(crate) mod worqr;

use clap::Subcommand;
use windlass::StoreUrl;
use windlass_interop::InteropServer;

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// One subcommand per older system.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Work on redis-work-queue queues
    #[command(subcommand)]
    RedisWorkQueue(redis_work_queue::Command),
    /// Work on Worqr queues
    #[command(subcommand)]
    Worqr(worqr::Command),
    /// Work on Blueque queues
    #[command(subcommand)]
    Blueque(blueque::Command),
    /// Work on the queue of the Delayed Queue App
    #[command(subcommand)]
    DelayedQueue(delayed_queue::Command),
    /// Migrate work from an older system into a queue
    Bridge(bridge::Arguments),
    /// List the queues of the older systems on a server
    Inspect,
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::RedisWorkQueue(command) => redis_work_queue::run(command, session).await,
        Command::Worqr(command) => worqr::run(command, session).await,
        Command::Blueque(command) => blueque::run(command, session).await,
        Command::DelayedQueue(command) => delayed_queue::run(command, session).await,
        Command::Bridge(arguments) => bridge::run(arguments, session).await,
        Command::Inspect => inspect::run(session).await,
    }
}

/// Connects to the server in `--store`, which has to be Redis for the older systems.
pub(crate) async fn server(session: &Session) -> Result<InteropServer> {
    match session.persistent_store_url()? {
        url @ StoreUrl::Redis { .. } => Ok(InteropServer::open(&url.to_secret_string()).await?),
        _ => Err(CliError::usage(
            "the older systems need a Redis store",
            "set the URL of their server, for example --store redis://127.0.0.1:6379/0",
        )),
    }
}
