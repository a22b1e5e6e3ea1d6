//! The lease thread: a dedicated thread with its own runtime and connection, for everything that must
//! continue while handlers block all other threads: renewals, heartbeats, deadlines.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};
use windlass_core::{Error, ErrorKind, Result, Store};

use crate::backoff::Backoff;
use crate::claim::renew;
use crate::run::report;
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::stop::deadlines::{Deadline, DeadlineAction};
use crate::stop::phase::Phase;
use crate::stop::{burst, cancellations};
use crate::{heartbeat, maintain};

/// The lease thread; dropping this ends it.
#[derive(Debug)]
pub(crate) struct LeaseThread {
    close: DropGuard,
    closed: oneshot::Receiver<()>,
}

impl LeaseThread {
    /// Starts the thread; returns when its store is open and the worker is registered, or `None` if the
    /// worker was stopped while it waited for the store.
    pub(crate) async fn start(shared: Arc<Shared>) -> Result<Option<Self>> {
        let until = CancellationToken::new();
        let close = until.clone().drop_guard();
        let (opened, is_opened) = oneshot::channel();
        let (end, closed) = oneshot::channel();
        let thread = std::thread::Builder::new().name("windlass-leases".to_owned());
        thread
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                match runtime {
                    Ok(runtime) => runtime.block_on(run_loops(shared, opened, until)),
                    Err(error) => drop(opened.send(Err(not_started(error)))),
                }
                let _ = end.send(());
            })
            .map_err(not_started)?;
        let is_open = is_opened
            .await
            .unwrap_or_else(|error| Err(not_started(error)))?;
        Ok(is_open.then_some(Self { close, closed }))
    }

    /// Ends the thread and waits for it.
    pub(crate) async fn end(self) {
        drop(self.close);
        // An error means the thread is gone: it has ended as well.
        let _ = self.closed.await;
    }
}

fn not_started(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let help = "check the limits on threads and memory (ulimit -u, ulimit -v)";
    let what = "cannot start the thread that renews the worker's leases";
    Error::new(ErrorKind::Internal, what, help).caused_by(error)
}

async fn run_loops(
    shared: Arc<Shared>,
    opened: oneshot::Sender<Result<bool>>,
    until: CancellationToken,
) {
    let store = match open_or_wait(&shared).await {
        Ok(Some(store)) => store,
        Ok(None) => return drop(opened.send(Ok(false))),
        Err(error) => return drop(opened.send(Err(error))),
    };
    if opened.send(Ok(true)).is_err() {
        return;
    }
    let mut loops = JoinSet::new();
    for queue in &shared.queues {
        let parts = || (Arc::clone(&shared), Arc::clone(queue), Arc::clone(&store));
        let (shared, queue, store) = parts();
        loops.spawn(renew::run(shared, queue, store));
        let (shared, queue, store) = parts();
        loops.spawn(report::run(shared, queue, Some(store)));
    }
    loops.spawn(heartbeat::run(Arc::clone(&shared), Arc::clone(&store)));
    loops.spawn(maintain::run(Arc::clone(&shared), Arc::clone(&store)));
    loops.spawn(cancellations::run(Arc::clone(&shared), Arc::clone(&store)));
    if shared.options.is_burst {
        loops.spawn(burst::run(Arc::clone(&shared), Arc::clone(&store)));
    }
    loops.spawn(enforce_deadlines(Arc::clone(&shared)));
    loop {
        tokio::select! {
            // Dropping the set ends every loop.
            () = until.cancelled() => return,
            ended = loops.join_next() => shared.loop_ended(ended),
        }
    }
}

/// Opens the store and, if the options say so, retries until it can be reached. Returns `None` if the
/// worker is stopped meanwhile.
async fn open_or_wait(shared: &Shared) -> Result<Option<Arc<dyn Store>>> {
    let mut opened = open(shared).await;
    let mut caller = shared.connections.outage().caller();
    let mut backoff = Backoff::default();
    loop {
        match opened {
            Err(error) if shared.options.waits_for_store && error.may_pass() => {
                caller.failed(&error);
            }
            opened => {
                if opened.is_ok() {
                    caller.succeeded();
                }
                return opened.map(Some);
            }
        }
        let again = async {
            tokio::time::sleep(backoff.next()).await;
            open(shared).await
        };
        opened = tokio::select! {
            opened = again => opened,
            _ = shared.stopper.until(|phase| *phase >= Phase::Stopping) => return Ok(None),
        };
    }
}

async fn open(shared: &Shared) -> Result<Arc<dyn Store>> {
    let store = shared.connections.for_lease_thread().await?;
    heartbeat::register(shared, store.as_ref(), shared.boot()).await?;
    Ok(store)
}

async fn enforce_deadlines(shared: Arc<Shared>) {
    loop {
        let Deadline {
            action,
            queue,
            attempt,
        } = shared.deadlines.next().await;
        let Some(attempt) = attempt.upgrade() else {
            continue;
        };
        match action {
            DeadlineAction::TimeOut => shared.ask_to_stop(&queue, &attempt, StopReason::TimedOut),
            DeadlineAction::Force => shared.force(&queue, &attempt),
        }
    }
}
