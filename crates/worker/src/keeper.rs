//! The keeper: a thread of its own, with a runtime and a connection of its own, for everything that
//! must go on while handlers block every other thread: renewals, beats, deadlines.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use windlass_core::{Error, ErrorKind, Result, Store};

use crate::deadlines::{Entry, Step};
use crate::shared::Shared;
use crate::stop::StopReason;
use crate::{burst, heartbeat, listen, maintain, renew, settle};

/// The keeper's thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    close: CancellationToken,
    closed: Option<oneshot::Receiver<()>>,
}

impl Keeper {
    /// Starts the thread; answers when its store is open and the worker is known.
    pub(crate) async fn start(shared: Arc<Shared>) -> Result<Self> {
        let close = CancellationToken::new();
        let (opened, is_opened) = oneshot::channel();
        let (end, closed) = oneshot::channel();
        let until = close.clone();
        let thread = std::thread::Builder::new().name("windlass-keeper".to_owned());
        thread
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                match runtime {
                    Ok(runtime) => runtime.block_on(keep(shared, opened, until)),
                    Err(error) => drop(opened.send(Err(not_started(error)))),
                }
                let _ = end.send(());
            })
            .map_err(not_started)?;
        is_opened
            .await
            .unwrap_or_else(|error| Err(not_started(error)))?;
        Ok(Self {
            close,
            closed: Some(closed),
        })
    }

    /// Ends the thread and waits for it.
    pub(crate) async fn end(mut self) {
        self.close.cancel();
        if let Some(closed) = self.closed.take() {
            // A thread that is gone has ended as well.
            let _ = closed.await;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

fn not_started(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let help = "see whether the machine has threads and memory left";
    let what = "the thread that renews the worker's leases did not start";
    Error::new(ErrorKind::Internal, what, help).caused_by(error)
}

async fn keep(shared: Arc<Shared>, opened: oneshot::Sender<Result<()>>, until: CancellationToken) {
    let store = match open(&shared).await {
        Ok(store) => store,
        Err(error) => return drop(opened.send(Err(error))),
    };
    if opened.send(Ok(())).is_err() {
        return;
    }
    let mut loops = JoinSet::new();
    for lane in &shared.lanes {
        let (shared, lane, store) = (Arc::clone(&shared), Arc::clone(lane), Arc::clone(&store));
        loops.spawn(renew::run(
            Arc::clone(&shared),
            Arc::clone(&lane),
            Arc::clone(&store),
        ));
        loops.spawn(settle::run_late(shared, lane, store));
    }
    start(&mut loops, &shared, &store, heartbeat::run);
    start(&mut loops, &shared, &store, maintain::run);
    start(&mut loops, &shared, &store, listen::run);
    if shared.options.is_burst {
        start(&mut loops, &shared, &store, burst::run);
    }
    loops.spawn(meet_deadlines(Arc::clone(&shared)));
    loop {
        tokio::select! {
            // Dropping the set ends every loop.
            () = until.cancelled() => return,
            ended = loops.join_next() => shared.loop_ended(ended),
        }
    }
}

fn start<F>(
    loops: &mut JoinSet<()>,
    shared: &Arc<Shared>,
    store: &Arc<dyn Store>,
    run: impl Fn(Arc<Shared>, Arc<dyn Store>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loops.spawn(run(Arc::clone(shared), Arc::clone(store)));
}

async fn open(shared: &Shared) -> Result<Arc<dyn Store>> {
    let store = shared.stores.second().await?;
    heartbeat::register(shared, store.as_ref(), shared.boot()).await?;
    Ok(store)
}

async fn meet_deadlines(shared: Arc<Shared>) {
    loop {
        let Entry { step, lane, run } = shared.deadlines.next().await;
        let Some(run) = run.upgrade() else {
            continue;
        };
        match step {
            Step::TimeOut => shared.ask_to_stop(&lane, &run, StopReason::TimedOut),
            Step::Force => shared.force(&lane, &run),
        }
    }
}
