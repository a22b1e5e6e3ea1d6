//! A process that runs the real worker runtime, with a handler that follows its payload and records
//! its effects.

mod handler;
mod logged_store;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use windlass_core::{Error, ErrorKind, LeaseTime, Result, Store};
use windlass_store_redis::RedisStore;
use windlass_worker::{AttemptContext, Connections, Options, Runtime, Source, Stopper};

use crate::effect_log::EffectWriter;
use crate::event::Event;
use crate::roles::ActorContext;
use crate::roles::event_log::EventLog;
use logged_store::LoggedStore;

/// Arguments of a runtime worker.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Name of the worker, also used in the effect log
    #[arg(long)]
    pub name: String,

    /// Path of the effect log
    #[arg(long)]
    pub effects: PathBuf,

    /// Jobs that run concurrently
    #[arg(long, default_value_t = 4)]
    pub concurrency: usize,

    /// Jobs claimed in advance
    #[arg(long, default_value_t = 0)]
    pub prefetch: usize,

    /// Lease in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub lease: u64,

    /// Delay of completions in milliseconds
    #[arg(long, default_value_t = 0)]
    pub delay: u64,

    /// Grace period on shutdown in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub grace: u64,
}

/// Runs until SIGTERM or the end of stdin; a second SIGTERM releases all jobs immediately.
pub async fn run(context: ActorContext, url: &str, arguments: Arguments) -> Result<()> {
    let effects = EffectWriter::open(&arguments.effects, &arguments.name).map_err(no_effect_log)?;
    let effects = Arc::new(effects);
    handler::report_panics(&context.events);
    let mut options = Options::new([Source::new(context.queue.clone())]);
    options.name = arguments.name;
    options.concurrency = arguments.concurrency;
    options.prefetch = arguments.prefetch;
    options.lease = LeaseTime::nearest(Duration::from_millis(arguments.lease));
    options.grace = Duration::from_millis(arguments.grace);
    let handler = move |context: AttemptContext| handler::attempt(context, Arc::clone(&effects));
    let stores = stores(&context, url, Duration::from_millis(arguments.delay));
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    stop_on_request(&runtime.stopper(), &context.events)?;
    context.events.log(Event::Boot(runtime.boot()));
    context.events.log(Event::Ready);
    let summary = runtime.run().await?;
    context.events.log(Event::Exited {
        succeeded: summary.succeeded,
        released: summary.released,
        lost: summary.lost,
    });
    Ok(())
}

/// The worker's stores: on Redis with a separate connection for renewals.
fn stores(context: &ActorContext, url: &str, delay: Duration) -> Connections {
    let store = LoggedStore::of(Arc::clone(&context.store), &context.events, delay);
    if !url.starts_with("redis") {
        return Connections::shared(store);
    }
    let (url, events) = (url.to_owned(), context.events.clone());
    Connections::with_reopen(store, move || {
        let (url, events) = (url.clone(), events.clone());
        async move {
            let options = windlass_store_redis::Options::default();
            let opened: Arc<dyn Store> = Arc::new(RedisStore::open(&url, options).await?);
            Ok(LoggedStore::of(opened, &events, delay))
        }
    })
}

fn stop_on_request(stopper: &Stopper, events: &EventLog) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let (by_signal, events) = (stopper.clone(), events.clone());
    tokio::spawn(async move {
        terminate.recv().await;
        by_signal.stop();
        events.log(Event::Stopping);
        terminate.recv().await;
        by_signal.stop_now();
    });
    let by_end = stopper.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        // An unreadable stdin counts as closed: the test has ended.
        let _ = std::io::stdin().read_to_end(&mut rest);
        by_end.stop();
    });
    Ok(())
}

fn no_effect_log(error: std::io::Error) -> Error {
    let help = "choose a file in a writable folder with --effects";
    Error::new(ErrorKind::Invalid, "cannot write the effect log", help).caused_by(error)
}

fn no_signals(error: std::io::Error) -> Error {
    let help = "raise the limit of open files: ulimit -n";
    Error::new(ErrorKind::Internal, "cannot listen for signals", help).caused_by(error)
}
