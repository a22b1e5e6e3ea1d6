//! The heartbeat: shows that the worker lives, and hears how it should go on.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{BootId, Error, Heartbeat, NewWorker, Result, Store, WorkerCommand};

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
        match heartbeat(&shared, store.as_ref()).await {
            Ok(WorkerCommand::Pause) if !was_quieted => {
                was_quieted = true;
                shared.stopper.quiet(true);
            }
            Ok(WorkerCommand::Continue) if was_quieted => {
                was_quieted = false;
                shared.stopper.quiet(false);
            }
            Ok(_) => {}
            Err(error) => tell(&error),
        }
    }
}

async fn heartbeat(shared: &Shared, store: &dyn Store) -> Result<WorkerCommand> {
    let running = shared.lanes.iter().flat_map(|lane| {
        let runs = lane.holdings().runs();
        let named = runs.into_iter().map(|run| run.job.id.clone());
        named
            .map(|id| (lane.queue().clone(), id))
            .collect::<Vec<_>>()
    });
    let heartbeat = Heartbeat {
        boot: shared.boot(),
        running: running.take(NAMED_MAX).collect(),
    };
    let told = store.heartbeat(heartbeat).await?;
    match told {
        WorkerCommand::Continue | WorkerCommand::Pause => {}
        WorkerCommand::Stop => shared.stopper.stop(),
        // Who is leaving needs no new life.
        WorkerCommand::Reregister if shared.stopper.phase() >= Phase::Stopping => {}
        WorkerCommand::Reregister => {
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
        "heartbeat: {error}; trying again");
}
