//! One process of a crash test: it uses the store in its role and says what it does and is told.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use windlass_chaos::roles::stop::Stop;
use windlass_chaos::roles::voice::Voice;
use windlass_chaos::roles::{Scene, drainer, enqueuer, hand, producer, racer, waiter, worker};
use windlass_core::{QueueName, Result, Store};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// An actor of the crash tests; it ends when its stdin is closed.
#[derive(Debug, Parser)]
struct Arguments {
    /// The SQLite file, or the URL of a Redis store
    #[arg(long, global = true, default_value = "chaos.db")]
    store: String,

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
    /// Runs the real worker until SIGTERM, or told to stop
    Hand(hand::Arguments),
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
    let voice = Voice::of_process();
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
    let store = open(&arguments, voice).await?;
    let queue = QueueName::new(windlass_chaos::QUEUE)?;
    let scene = Scene::new(store, queue, voice.clone());
    match arguments.role {
        Role::Producer(own) => producer::run(scene, own, &Stop::on_end_of_input()).await,
        Role::Worker(own) => worker::run(scene, own, &Stop::on_end_of_input()).await,
        Role::Hand(own) => hand::run(scene, &arguments.store, own).await,
        Role::Drainer => drainer::run(scene).await,
        Role::Sequential(own) => enqueuer::sequential(scene, own).await,
        Role::Concurrent(own) => enqueuer::concurrent(scene, own).await,
        Role::Racer => racer::run(scene).await,
        Role::Waiter => waiter::run(scene).await,
    }
}

/// Opens the store; where it cannot be had for now, again.
async fn open(arguments: &Arguments, voice: &Voice) -> Result<Arc<dyn Store>> {
    loop {
        match try_open(arguments).await {
            Err(error) if error.is_transient() => voice.trouble(&error),
            opened => return opened,
        }
    }
}

async fn try_open(arguments: &Arguments) -> Result<Arc<dyn Store>> {
    if arguments.store.starts_with("redis") {
        let store = RedisStore::open(&arguments.store, windlass_store_redis::Options::default());
        return Ok(Arc::new(store.await?));
    }
    let options = Options {
        synchronous: if arguments.unsynced {
            Synchronous::Normal
        } else {
            Synchronous::Full
        },
        ..Options::default()
    };
    Ok(Arc::new(SqliteStore::open(
        Path::new(&arguments.store),
        options,
    )?))
}
