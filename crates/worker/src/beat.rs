//! The beat: shows that the worker lives, and hears how it should go on.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Beat, BootId, Error, NewWorker, Result, Store, Told};

use crate::phase::Phase;
use crate::shared::Shared;

/// How often a worker beats: word from outside reaches it within this.
const EVERY: Duration = Duration::from_secs(2);

/// How many of its jobs a worker names.
const NAMED_MAX: usize = 100;

/// Makes the worker known.
pub(crate) async fn register(shared: &Shared, store: &dyn Store, boot: BootId) -> Result<()> {
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let queues = shared.lanes.iter().map(|lane| lane.queue().clone());
    store
        .register(NewWorker {
            boot,
            name: shared.options.name.clone(),
            host: host.chars().filter(|c| !c.is_control()).take(30).collect(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queues: queues.collect(),
        })
        .await
}

/// Beats until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Only what was told is taken back: a program may have quieted its worker itself.
    let mut was_quieted = false;
    loop {
        ticks.tick().await;
        match beat(&shared, store.as_ref()).await {
            Ok(Told::Quiet) if !was_quieted => {
                was_quieted = true;
                shared.stopper.quiet(true);
            }
            Ok(Told::Continue) if was_quieted => {
                was_quieted = false;
                shared.stopper.quiet(false);
            }
            Ok(_) => {}
            Err(error) => tell(&error),
        }
    }
}

async fn beat(shared: &Shared, store: &dyn Store) -> Result<Told> {
    let running = shared.lanes.iter().flat_map(|lane| {
        let runs = lane.holdings().runs();
        let named = runs.into_iter().map(|run| run.job.id.clone());
        named
            .map(|id| (lane.queue().clone(), id))
            .collect::<Vec<_>>()
    });
    let beat = Beat {
        boot: shared.boot(),
        running: running.take(NAMED_MAX).collect(),
    };
    let told = store.beat(beat).await?;
    match told {
        Told::Continue | Told::Quiet => {}
        Told::Stop => shared.stopper.stop(),
        // Who is leaving needs no new life.
        Told::Lost if shared.stopper.phase() >= Phase::Stopping => {}
        Told::Lost => {
            let boot = BootId::generate();
            register(shared, store, boot.clone()).await?;
            tracing::warn!(target: "windlass", %boot, "this worker was silent for too long or declared dead: its jobs went back, and it goes on under a new id");
            shared.reborn(&boot);
        }
    }
    Ok(told)
}

fn tell(error: &Error) {
    tracing::warn!(target: "windlass", code = error.code(), help = error.help(),
        "beat: {error}; trying again");
}
