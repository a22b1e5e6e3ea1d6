//! No-op jobs through the real worker, beside the bare engine that finishes and takes.

use std::sync::Arc;
use std::time::Instant;

use windlass_core::{NewJob, QueueName, Store};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::ServerOptions;
use windlass_worker::{Context, Options, Outcome, Runtime, Source, Stores, Summary};

use crate::sample::Sample;
use crate::{bare_redis, bare_sqlite, cpu};

const ROUNDS: usize = 5;
const BATCH: usize = 100;
const CONCURRENCIES: [usize; 3] = [100, 200, 1000];

fn queue() -> QueueName {
    QueueName::new("bench").expect("a good name")
}

pub(crate) async fn run(jobs: usize) {
    println!("jobs a second, {jobs} no-op jobs of 100 bytes, median of {ROUNDS} rounds");
    redis(jobs).await;
    sqlite(jobs / 4).await;
}

async fn redis(jobs: usize) {
    let server = ServerOptions::new().tcp().start();
    let mut bare = Sample::default();
    let mut ours = CONCURRENCIES.map(|_| Sample::default());
    let mut costs = CONCURRENCIES.map(|_| Cost::default());
    for _ in 0..ROUNDS {
        bare_redis::fill(&server, jobs).await;
        bare.push(bare_redis::drain(&server, jobs).await);
        for ((concurrency, sample), cost) in CONCURRENCIES.iter().zip(&mut ours).zip(&mut costs) {
            server.command(&["FLUSHALL"]).ok();
            let url = server.url();
            let open = move || {
                let url = url.clone();
                async move {
                    let store =
                        RedisStore::open(&url, windlass_store_redis::Options::default()).await?;
                    Ok(Arc::new(store) as Arc<dyn Store>)
                }
            };
            let store = open().await.expect("opened");
            let stores = Stores::reopened(store.clone(), open);
            fill(store.as_ref(), jobs).await;
            let before = (cpu::own(), cpu::of(&server), cpu::calls(&server));
            sample.push(process(stores, jobs, *concurrency).await);
            cost.own
                .push(per_job(cpu::own().saturating_sub(before.0), jobs));
            cost.server
                .push(per_job(cpu::of(&server).saturating_sub(before.1), jobs));
            let calls = cpu::calls(&server) - before.2;
            cost.calls.push(calls as f64 / jobs as f64);
        }
    }
    tell("redis", &bare, &ours);
    for (concurrency, cost) in CONCURRENCIES.iter().zip(&costs) {
        println!(
            "redis: concurrency {concurrency}, claim to complete per job: CPU of worker {:.2} µs, \
             of server {:.2} µs, calls {:.4}",
            cost.own.median(),
            cost.server.median(),
            cost.calls.median()
        );
    }
}

/// What jobs cost besides time.
#[derive(Debug, Default)]
struct Cost {
    own: Sample,
    server: Sample,
    calls: Sample,
}

async fn sqlite(jobs: usize) {
    let mut bare = Sample::default();
    let mut ours = CONCURRENCIES.map(|_| Sample::default());
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut engine =
            bare_sqlite::Bare::open(&folder.path().join("bare.db")).expect("the bare engine works");
        engine.enqueue(jobs, BATCH).expect("filled");
        let began = Instant::now();
        engine.drain(jobs, BATCH).expect("drained");
        bare.push(jobs as f64 / began.elapsed().as_secs_f64());
        for (concurrency, sample) in CONCURRENCIES.iter().zip(&mut ours) {
            let path = folder.path().join(format!("{concurrency}.db"));
            let store = SqliteStore::open(&path, windlass_store_sqlite::Options::default())
                .expect("opened");
            let store: Arc<dyn Store> = Arc::new(store);
            let stores = Stores::shared(Arc::clone(&store));
            fill(store.as_ref(), jobs).await;
            sample.push(process(stores, jobs, *concurrency).await);
        }
    }
    tell("sqlite", &bare, &ours);
}

fn tell(store: &str, bare: &Sample, ours: &[Sample]) {
    let bare = bare.median();
    println!("{store}: bare finish+take {bare:.0}");
    for (concurrency, ours) in CONCURRENCIES.iter().zip(ours) {
        let ours = ours.median();
        println!(
            "{store}: worker, concurrency {concurrency}: {ours:.0} ({:.2} of bare)",
            ours / bare
        );
    }
}

fn per_job(cpu: std::time::Duration, jobs: usize) -> f64 {
    cpu.as_secs_f64() * 1e6 / jobs as f64
}

async fn fill(store: &dyn Store, jobs: usize) {
    for _ in 0..jobs / BATCH {
        let batch = (0..BATCH).map(|_| NewJob::new(vec![b'x'; 100])).collect();
        store.enqueue(&queue(), batch).await.expect("enqueued");
    }
}

/// Works off a full queue; jobs a second.
async fn process(stores: Stores, jobs: usize, concurrency: usize) -> f64 {
    let mut options = Options::new([Source::new(queue())]);
    options.concurrency = concurrency;
    let done = Arc::new(tokio::sync::Semaphore::new(0));
    let handler = {
        let done = Arc::clone(&done);
        move |_: Context| {
            done.add_permits(1);
            std::future::ready(Outcome::done())
        }
    };
    let runtime = Runtime::new(stores, options, Arc::new(handler)).expect("good options");
    let stopper = runtime.stopper();
    let began = Instant::now();
    let worker = tokio::spawn(runtime.run());
    let all = u32::try_from(jobs).unwrap_or(u32::MAX);
    drop(done.acquire_many(all).await);
    let seconds = began.elapsed().as_secs_f64();
    stopper.stop();
    let summary: Summary = worker.await.expect("no panic").expect("a clean end");
    assert_eq!(
        summary.succeeded, jobs as u64,
        "each job is worked off once"
    );
    jobs as f64 / seconds
}
