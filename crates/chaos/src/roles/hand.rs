//! A worker as users have it: the real runtime, with a handler that does as its payload says and
//! writes each effect to the witness.

mod effect;
mod spoken;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use windlass_core::{Error, ErrorKind, Result, Store};
use windlass_store_redis::RedisStore;
use windlass_worker::{AttemptContext, Connections, Options, Runtime, Source, Stopper};

use crate::event::Event;
use crate::roles::Scene;
use crate::roles::voice::Voice;
use crate::witness::Pen;
use spoken::Spoken;

/// How a hand is started.
#[derive(Debug, Args)]
pub struct Arguments {
    /// What people, and the witness, call it
    #[arg(long)]
    pub name: String,

    /// The file that effects are written to
    #[arg(long)]
    pub witness: PathBuf,

    /// How many jobs run at once
    #[arg(long, default_value_t = 4)]
    pub concurrency: usize,

    /// How many more are held ready
    #[arg(long, default_value_t = 0)]
    pub prefetch: usize,

    /// How long jobs are held without a renewal, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub lease: u64,

    /// How long a completion is on its way to the store, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub delay: u64,

    /// How long jobs may run on when the worker stops, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub grace: u64,
}

/// Works until SIGTERM or the end of its stdin; a second SIGTERM gives everything back now.
pub async fn run(scene: Scene, url: &str, arguments: Arguments) -> Result<()> {
    let pen = Pen::open(&arguments.witness, &arguments.name).map_err(no_witness)?;
    let pen = Arc::new(pen);
    effect::confess_panics(&scene.voice);
    let mut options = Options::new([Source::new(scene.queue.clone())]);
    options.name = arguments.name;
    options.concurrency = arguments.concurrency;
    options.prefetch = arguments.prefetch;
    options.lease = Duration::from_millis(arguments.lease);
    options.grace = Duration::from_millis(arguments.grace);
    let handler = move |context: AttemptContext| effect::attempt(context, Arc::clone(&pen));
    let stores = stores(&scene, url, Duration::from_millis(arguments.delay));
    let runtime = Runtime::new(stores, options, Arc::new(handler))?;
    stop_when_asked(&runtime.stopper(), &scene.voice)?;
    scene.voice.say(Event::Boot(runtime.boot()));
    scene.voice.say(Event::Ready);
    let summary = runtime.run().await?;
    scene.voice.say(Event::Left {
        succeeded: summary.succeeded,
        released: summary.released,
        lost: summary.lost,
    });
    Ok(())
}

/// The store as a worker needs it: on Redis a connection of their own for renewals.
fn stores(scene: &Scene, url: &str, delay: Duration) -> Connections {
    let store = Spoken::of(Arc::clone(&scene.store), &scene.voice, delay);
    if !url.starts_with("redis") {
        return Connections::shared(store);
    }
    let (url, voice) = (url.to_owned(), scene.voice.clone());
    Connections::with_reopen(store, move || {
        let (url, voice) = (url.clone(), voice.clone());
        async move {
            let options = windlass_store_redis::Options::default();
            let opened: Arc<dyn Store> = Arc::new(RedisStore::open(&url, options).await?);
            Ok(Spoken::of(opened, &voice, delay))
        }
    })
}

fn stop_when_asked(stopper: &Stopper, voice: &Voice) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).map_err(deaf)?;
    let (by_signal, voice) = (stopper.clone(), voice.clone());
    tokio::spawn(async move {
        terminate.recv().await;
        by_signal.stop();
        voice.say(Event::Stopping);
        terminate.recv().await;
        by_signal.stop_now();
    });
    let by_end = stopper.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        // An unreadable stdin is as good as a closed one: the test has ended.
        let _ = std::io::stdin().read_to_end(&mut rest);
        by_end.stop();
    });
    Ok(())
}

fn no_witness(error: std::io::Error) -> Error {
    let help = "name a file in a folder that can be written with --witness";
    Error::new(ErrorKind::Invalid, "the witness cannot be written", help).caused_by(error)
}

fn deaf(error: std::io::Error) -> Error {
    let help = "see whether the process may have more open files";
    Error::new(ErrorKind::Internal, "signals cannot be heard", help).caused_by(error)
}
