//! `windlass interop`: works with older queue systems on their own keys.

pub(crate) mod blueque;
mod bridge;
mod inspect;
pub(crate) mod redis_work_queue;
pub(crate) mod worqr;

use clap::Subcommand;
use windlass::StoreUrl;
use windlass_interop::Server;

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;

/// Subcommands, one per older system.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Act as a client or worker of redis-work-queue
    #[command(subcommand)]
    RedisWorkQueue(redis_work_queue::Command),
    /// Act as a client or worker of Worqr
    #[command(subcommand)]
    Worqr(worqr::Command),
    /// Act as a client or worker of Blueque
    #[command(subcommand)]
    Blueque(blueque::Command),
    /// Move jobs of an older system into a Windlass queue
    Bridge(bridge::Arguments),
    /// List the queues of older systems on a server
    Inspect,
}

/// Runs a subcommand.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::RedisWorkQueue(command) => redis_work_queue::run(command, session).await,
        Command::Worqr(command) => worqr::run(command, session).await,
        Command::Blueque(command) => blueque::run(command, session).await,
        Command::Bridge(arguments) => bridge::run(arguments, session).await,
        Command::Inspect => inspect::run(session).await,
    }
}

/// Connects to the server of `--store`, which must be Redis.
pub(crate) async fn server(session: &Session) -> Result<Server> {
    match session.persistent_store_url()? {
        url @ StoreUrl::Redis { .. } => Ok(Server::open(&url.to_secret_string()).await?),
        _ => Err(CliError::usage(
            "the older systems need a Redis server, but the store is a SQLite file",
            "pass the URL of their server, for example --store redis://127.0.0.1:6379/0",
        )),
    }
}
