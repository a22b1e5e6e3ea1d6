//! `windlass interop`: the older systems on their own keys.

pub(crate) mod blueque;
mod bridge;
mod inspect;
pub(crate) mod redis_work_queue;
pub(crate) mod worqr;

use clap::Subcommand;
use windlass::StoreUrl;
use windlass_interop::Server;

use crate::exit::{Exit, Failure, Result};
use crate::session::Session;

/// One word per older system.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Be a peer of redis-work-queue
    #[command(subcommand)]
    RedisWorkQueue(redis_work_queue::Command),
    /// Be a peer of Worqr
    #[command(subcommand)]
    Worqr(worqr::Command),
    /// Be a peer of Blueque
    #[command(subcommand)]
    Blueque(blueque::Command),
    /// Carry work of an older system over into a queue
    Bridge(bridge::Arguments),
    /// See what the older systems have on a server
    Inspect,
}

/// Runs what was typed after `interop`.
pub(crate) async fn run(command: Command, session: &mut Session) -> Result<Exit> {
    match command {
        Command::RedisWorkQueue(command) => redis_work_queue::run(command, session).await,
        Command::Worqr(command) => worqr::run(command, session).await,
        Command::Blueque(command) => blueque::run(command, session).await,
        Command::Bridge(arguments) => bridge::run(arguments, session).await,
        Command::Inspect => inspect::run(session).await,
    }
}

/// The server that `--store` names: the older systems know no other place than Redis.
pub(crate) async fn server(session: &Session) -> Result<Server> {
    match session.lasting_store()? {
        url @ StoreUrl::Redis { .. } => Ok(Server::open(&url.to_secret_string()).await?),
        _ => Err(Failure::usage(
            "the older systems keep their keys in Redis, and the store named is a file",
            "name their server, for example --store redis://127.0.0.1:6379/0",
        )),
    }
}
