//! The heartbeat loop: reports that the worker is alive and receives commands for it.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand};
use windlass_core::{BootId, Error, Result, Store};

use crate::options::printable;
use crate::run::attempt::Attempt;
use crate::shared::Shared;
use crate::stop::phase::Phase;

/// The heartbeat interval, and the longest a command takes to arrive.
const EVERY: Duration = Duration::from_secs(2);

/// The most running jobs that a heartbeat lists.
const LISTED_MAX: usize = 100;

/// Registers the worker with the store.
pub(crate) async fn register(shared: &Shared, store: &dyn Store, boot: BootId) -> Result<()> {
    let system = rustix::system::uname();
    let queues = shared.queues.iter().map(|queue| queue.name().clone());
    store
        .register(NewWorker {
            boot,
            name: shared.options.name.clone(),
            host: printable(&system.nodename().to_string_lossy()),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queues: queues.collect(),
        })
        .await
}

/// Sends heartbeats until it is dropped.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Resumes only what a command paused: the program may have paused the worker itself.
    let mut is_paused = false;
    loop {
        ticks.tick().await;
        match heartbeat(&shared, store.as_ref()).await {
            Ok(WorkerCommand::Pause) if !is_paused => {
                is_paused = true;
                shared.stopper.set_paused(true);
            }
            Ok(WorkerCommand::Continue) if is_paused => {
                is_paused = false;
                shared.stopper.set_paused(false);
            }
            Ok(_) => {}
            Err(error) => warn(&error),
        }
    }
}

async fn heartbeat(shared: &Shared, store: &dyn Store) -> Result<WorkerCommand> {
    let running = shared.queues.iter().flat_map(|queue| {
        let held_claims = queue.held_claims();
        let named = |attempt: &Arc<Attempt>| (queue.name().clone(), attempt.job.id.clone());
        held_claims.attempts().map(named).collect::<Vec<_>>()
    });
    let heartbeat = Heartbeat {
        boot: shared.boot(),
        running: running.take(LISTED_MAX).collect(),
    };
    let command = store.heartbeat(heartbeat).await?;
    match command {
        WorkerCommand::Continue | WorkerCommand::Pause => {}
        WorkerCommand::Stop => shared.stopper.stop(),
        // A stopping worker does not register again.
        WorkerCommand::Reregister if shared.stopper.phase() >= Phase::Stopping => {}
        WorkerCommand::Reregister => {
            let boot = BootId::generate();
            register(shared, store, boot.clone()).await?;
            tracing::warn!(target: "windlass", %boot, "the store considers this worker dead (missed heartbeats, or marked as failed) and has requeued its jobs; continuing under a new boot id");
            shared.start_boot(&boot);
        }
    }
    Ok(command)
}

fn warn(error: &Error) {
    tracing::warn!(target: "windlass", code = error.code(), help = error.help(),
        "heartbeat failed: {error}; retrying");
}
