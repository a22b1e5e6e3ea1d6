//! One process of a crash test: it uses the store in its role and says what it does and is told.

mod roles;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use windlass_core::{ErrorKind, QueueName, Result};
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

use crate::roles::stop::Stop;
use crate::roles::voice::Voice;
use crate::roles::{Scene, drainer, enqueuer, producer, racer, waiter, worker};

/// An actor of the crash tests; it ends when its stdin is closed.
#[derive(Debug, Parser)]
struct Arguments {
    /// The SQLite file
    #[arg(long, global = true, default_value = "chaos.db")]
    store: PathBuf,

    /// Do not sync before answering: the fault that the test of syncs must find
    #[arg(long, global = true)]
    unsynced: bool,

    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Enqueues batches until told to stop
    Producer(producer::Arguments),
    /// Claims, completes, fails, gives back, puts off and stalls until told to stop
    Worker(worker::Arguments),
    /// Claims and completes until nothing is left
    Drainer,
    /// Enqueues jobs one after the other
    Sequential(enqueuer::Arguments),
    /// Enqueues jobs many at a time
    Concurrent(enqueuer::Arguments),
    /// Claims and completes against others for a while
    Racer,
    /// Waits for one job after the other
    Waiter,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let voice = Voice::new();
    match run(arguments, &voice).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            voice.fault(format!(
                "{}: {error} {:?}",
                error.code(),
                std::error::Error::source(&error)
            ));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments, voice: &Voice) -> Result<()> {
    let scene = Scene {
        store: open(&arguments, voice)?,
        queue: QueueName::new(windlass_chaos::QUEUE)?,
        voice: voice.clone(),
    };
    match arguments.role {
        Role::Producer(own) => producer::run(scene, own, &Stop::on_end_of_input()).await,
        Role::Worker(own) => worker::run(scene, own, &Stop::on_end_of_input()).await,
        Role::Drainer => drainer::run(scene).await,
        Role::Sequential(own) => enqueuer::sequential(scene, own).await,
        Role::Concurrent(own) => enqueuer::concurrent(scene, own).await,
        Role::Racer => racer::run(scene).await,
        Role::Waiter => waiter::run(scene).await,
    }
}

/// Opens the store; where others keep it busy, again.
fn open(arguments: &Arguments, voice: &Voice) -> Result<std::sync::Arc<SqliteStore>> {
    loop {
        let options = Options {
            synchronous: if arguments.unsynced {
                Synchronous::Normal
            } else {
                Synchronous::Full
            },
            ..Options::default()
        };
        match SqliteStore::open(&arguments.store, options) {
            Err(error) if error.kind() == ErrorKind::StoreBusy => voice.trouble(&error),
            opened => return opened.map(std::sync::Arc::new),
        }
    }
}
