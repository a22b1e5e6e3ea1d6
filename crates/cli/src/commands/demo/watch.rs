//! `windlass demo --watch`: a store with life in it, and its dashboard, until it is stopped.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use windlass::runtime::Connections;
use windlass::store::LeaseTime;
use windlass::{OpenMode, QueueName, StoreUrl};
use windlass_bench::LoadTarget;
use windlass_server::CancellationToken;
use windlass_worker::{Options, Runtime, Source, Stopper};

use super::life;
use crate::commands::serve;
use crate::exit::{Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

/// Workers, each with this many slots.
const WORKERS: u32 = 3;
const SLOTS: usize = 12;

/// Short, so that a killed demo leaves nothing running for long on shared servers.
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(10));

/// Serves a store in which jobs come and go until a signal, then removes it.
pub(super) async fn run(listen: SocketAddr, session: &mut Session) -> Result<Exit> {
    // Without tokens, so only for this machine; the environment does not apply.
    let options = windlass_server::Options::new(listen)?;
    options.check()?;
    let mut signals = Signals::listen()?;
    let target = LoadTarget::choose(session.global.store.as_deref(), "demo")?;
    session.interrupts.begin_cleanup();
    let lived = live(target.url(), options, &mut signals, session).await;
    let removed = target.remove().await;
    lived?;
    removed?;
    Ok(Exit::Ok)
}

async fn live(
    url: &StoreUrl,
    options: windlass_server::Options,
    signals: &mut Signals,
    session: &mut Session,
) -> Result<()> {
    let stores = windlass::runtime::open_connections(url, OpenMode::CreateIfMissing).await?;
    life::prepare(stores.store().as_ref()).await?;
    let note = "this store fills itself with jobs and is removed at the end; stop it with Ctrl-C; the dashboard is at";
    session.output.note(note);
    let server = serve::open(&stores, url, options, session).await?;
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(server.run(stop.clone()));
    let mut stoppers = Vec::new();
    for number in 1..=WORKERS {
        let worker = worker(stores.clone(), number)?;
        stoppers.push(worker.stopper());
        tasks.spawn(async move {
            let _ = worker.run().await;
        });
    }
    let store = Arc::clone(stores.store());
    let enqueueing = tokio::spawn(async move { life::enqueue(store.as_ref()).await });
    signals.next().await;
    enqueueing.abort();
    stop.cancel();
    stoppers.iter().for_each(Stopper::stop);
    // A second signal does not wait for jobs that run.
    signals.unless_next(tasks.join_all()).await;
    Ok(())
}

fn worker(stores: Connections, number: u32) -> Result<Runtime> {
    let queues = life::QUEUES.iter().map(|name| QueueName::new(*name));
    let queues = queues.collect::<windlass::Result<Vec<_>>>()?;
    let mut options = Options::new(queues.into_iter().map(Source::new));
    options.name = format!("demo-{number}");
    options.concurrency = SLOTS;
    options.lease = LEASE;
    options.grace = Duration::from_secs(1);
    Ok(Runtime::new(stores, options, Arc::new(life::attempt))?)
}
