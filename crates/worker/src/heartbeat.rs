//! The heartbeat loop: reports that the worker is alive and receives commands for it.

use std::sync::Arc;

use windlass_core::limits::HEARTBEAT_EVERY;
use windlass_core::store::{Heartbeat, NewWorker, WorkerCommand};
use windlass_core::{BootId, Result, Store};

use crate::events;
use crate::options::printable;
use crate::run::attempt::Attempt;
use crate::shared::Shared;
use crate::stop::phase::Phase;

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
    let mut ticks = tokio::time::interval(HEARTBEAT_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Resumes only what a command paused: the program may have paused the worker itself.
    let mut is_paused = false;
    let mut caller = shared.connections.outage().caller();
    loop {
        ticks.tick().await;
        let command = heartbeat(&shared, store.as_ref()).await;
        caller.record(&command);
        if let Ok(command @ (WorkerCommand::Pause | WorkerCommand::Continue)) = command {
            let pause = command == WorkerCommand::Pause;
            if std::mem::replace(&mut is_paused, pause) != pause {
                shared.stopper.set_paused(pause);
                events::worker_paused(pause);
            }
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
            events::worker_reregistered(&boot);
            shared.start_boot(&boot);
        }
    }
    Ok(command)
}
