//! One process of a crash test: uses the store in its role and logs its calls and their replies.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use windlass_chaos::roles::event_log::EventLog;
use windlass_chaos::roles::stop::Stop;
use windlass_chaos::roles::{
    ActorContext, drainer, enqueuer, grouped, producer, racer, runtime_worker, scheduled, waiter,
    worker,
};
use windlass_core::{LeaseTime, QueueName, Result, Store};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::{Options, SqliteStore, Synchronous};

/// An actor of the crash tests; exits when stdin is closed.
#[derive(Debug, Parser)]
struct Arguments {
    /// The SQLite file, or the URL of a Redis store
    #[arg(long, global = true, default_value = "chaos.db")]
    store: String,

    /// Do not sync before replying: the planted bug that the sync test must find
    #[arg(long, global = true)]
    unsynced: bool,

    /// The lease of claims in milliseconds, where the role does not choose it
    #[arg(long, global = true)]
    lease_ms: Option<u64>,

    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Enqueues batches until asked to stop
    Producer(producer::Arguments),
    /// Claims, completes, fails, releases, snoozes and stalls until asked to stop
    Worker(worker::Arguments),
    /// Runs the real worker runtime until SIGTERM, or asked to stop
    RuntimeWorker(runtime_worker::Arguments),
    /// Fires and completes the jobs of schedules until asked to stop
    Scheduled,
    /// Runs short jobs of groups, of which some fail, until asked to stop
    Grouped(grouped::Arguments),
    /// Claims and completes until the queue is empty
    Drainer,
    /// Enqueues jobs one by one
    Sequential(enqueuer::Arguments),
    /// Enqueues jobs concurrently
    Concurrent(enqueuer::Arguments),
    /// Claims and completes in competition with others for a while
    Racer,
    /// Waits for jobs one by one
    Waiter,
    /// Waits for jobs many times at the same time, until asked to stop
    Waiters(waiter::Arguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let events = EventLog::of_process();
    match run(arguments, &events).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            events.violation(format!(
                "{}: {error} {:?}",
                error.code(),
                std::error::Error::source(&error)
            ));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments, events: &EventLog) -> Result<()> {
    let store = open(&arguments, events).await?;
    let queue = QueueName::new(windlass_chaos::QUEUE)?;
    let mut context = ActorContext::new(store, queue, events.clone());
    if let Some(ms) = arguments.lease_ms {
        context.lease = LeaseTime::nearest(Duration::from_millis(ms));
    }
    match arguments.role {
        Role::Producer(own) => producer::run(context, own, &Stop::on_end_of_input()).await,
        Role::Worker(own) => worker::run(context, own, &Stop::on_end_of_input()).await,
        Role::RuntimeWorker(own) => runtime_worker::run(context, &arguments.store, own).await,
        Role::Scheduled => scheduled::run(context, &Stop::on_end_of_input()).await,
        Role::Grouped(own) => grouped::run(context, own, &Stop::on_end_of_input()).await,
        Role::Drainer => drainer::run(context).await,
        Role::Sequential(own) => enqueuer::sequential(context, own).await,
        Role::Concurrent(own) => enqueuer::concurrent(context, own).await,
        Role::Racer => racer::run(context).await,
        Role::Waiter => waiter::run(context).await,
        Role::Waiters(own) => waiter::many(context, own, &Stop::on_end_of_input()).await,
    }
}

/// Opens the store; retries on transient errors.
async fn open(arguments: &Arguments, events: &EventLog) -> Result<Arc<dyn Store>> {
    loop {
        match try_open(arguments).await {
            Err(error) if error.is_transient() => events.store_error(&error),
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
