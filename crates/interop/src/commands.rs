//! The commands of older systems: `windlass interop`, `windlass processor` and `windlass submit`.

mod blueque;
mod bridge;
mod delayed_queue;
mod inspect;
mod print;
pub mod processor;
mod redis_work_queue;
mod runner;
pub mod submit;
mod worqr;

use clap::{Args, Subcommand};
use windlass::StoreUrl;
use windlass_exec::Launch;
use windlass_terminal::exit::{CliError, Exit, Result};
use windlass_terminal::session::Session;

use crate::InteropServer;

/// `windlass interop`.
#[derive(Debug, Args)]
pub struct Interop {
    #[command(subcommand)]
    command: Command,
}

/// One subcommand per older system.
#[derive(Debug, Subcommand)]
enum Command {
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

/// Runs a subcommand; `launch` starts programs.
pub async fn run(interop: Interop, session: &mut Session, launch: Launch) -> Result<Exit> {
    match interop.command {
        Command::RedisWorkQueue(command) => redis_work_queue::run(command, session).await,
        Command::Worqr(command) => worqr::run(command, session, launch).await,
        Command::Blueque(command) => blueque::run(command, session, launch).await,
        Command::DelayedQueue(command) => delayed_queue::run(command, session, launch).await,
        Command::Bridge(arguments) => bridge::run(arguments, session).await,
        Command::Inspect => inspect::run(session).await,
    }
}

/// Connects to the server in `--store`, which has to be Redis for the older systems.
pub(crate) async fn server(session: &Session) -> Result<InteropServer> {
    match session.persistent_store_url()? {
        url @ StoreUrl::Redis { .. } => Ok(InteropServer::open(&url.to_secret_string()).await?),
        url => Err(CliError::usage(
            format!("{url} is not a Redis store, and the older systems keep their jobs in Redis"),
            "set the URL of their server, for example --store redis://127.0.0.1:6379/0",
        )),
    }
}
