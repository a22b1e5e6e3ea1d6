//! Jobs a second over HTTP, beside the same work by the library on the same store in the same run.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use windlass_core::{NewJob, QueueName, Store};
use windlass_server::{CancellationToken, Client, Options, Server};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::ServerOptions;

use crate::sample::Sample;

const ROUNDS: usize = 5;
const CALLERS: usize = 64;
const BATCH: usize = 100;

pub(crate) async fn run(jobs: usize) {
    println!(
        "jobs a second, {jobs} jobs of 100 bytes, {CALLERS} callers, median of {ROUNDS} rounds"
    );
    let server = ServerOptions::new().tcp().start();
    let url = server.url();
    let store = RedisStore::open(&url, windlass_store_redis::Options::default()).await;
    measure("redis", Arc::new(store.expect("opened")), jobs).await;
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("jobs.db");
    let store = SqliteStore::open(&path, windlass_store_sqlite::Options::default());
    measure("sqlite", Arc::new(store.expect("opened")), jobs).await;
}

async fn measure(name: &str, store: Arc<dyn Store>, jobs: usize) {
    let options = Options::new(([127, 0, 0, 1], 0).into()).expect("good options");
    let server = Server::bind(Arc::clone(&store), options)
        .await
        .expect("bound");
    let url = server.url();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    let mut samples: [Sample; 4] = Default::default();
    for _ in 0..ROUNDS {
        let queue = QueueName::new("bench").expect("a good name");
        samples[0].push(timed(jobs, 1, || singly(Arc::clone(&store), queue.clone(), jobs)).await);
        samples[1].push(timed(jobs, 1, || singly_by_http(url.clone(), jobs)).await);
        samples[2].push(
            timed(jobs, BATCH, || {
                in_batches(Arc::clone(&store), queue.clone(), jobs)
            })
            .await,
        );
        samples[3].push(timed(jobs, BATCH, || in_batches_by_http(url.clone(), jobs)).await);
        while store.purge(&queue).await.expect("purged") > 0 {}
    }
    stop.cancel();
    serving.await.expect("no panic");
    let [library, http, batches, imported] = samples.map(|sample| sample.median());
    println!(
        "{name}: one a call: library {library:.0}, HTTP {http:.0} ({:.2})",
        http / library
    );
    println!(
        "{name}: {BATCH} a call: library {batches:.0}, HTTP {imported:.0} ({:.2})",
        imported / batches
    );
}

/// Runs the callers; jobs a second of all together.
async fn timed<F>(jobs: usize, batch: usize, work: impl Fn() -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(work())).collect();
    for caller in callers {
        caller.await.expect("a caller ends well");
    }
    let done = jobs / CALLERS / batch * batch * CALLERS;
    done as f64 / began.elapsed().as_secs_f64()
}

async fn singly(store: Arc<dyn Store>, queue: QueueName, jobs: usize) {
    for _ in 0..jobs / CALLERS {
        let job = vec![NewJob::new(vec![b'x'; 100])];
        store.enqueue(&queue, job).await.expect("enqueued");
    }
}

async fn in_batches(store: Arc<dyn Store>, queue: QueueName, jobs: usize) {
    for _ in 0..jobs / CALLERS / BATCH {
        let batch = (0..BATCH).map(|_| NewJob::new(vec![b'x'; 100])).collect();
        store.enqueue(&queue, batch).await.expect("enqueued");
    }
}

fn job() -> String {
    format!(r#"{{"payload":"{}"}}"#, "x".repeat(100))
}

async fn singly_by_http(url: String, jobs: usize) {
    let mut client = Client::connect(&url).await.expect("connected");
    for _ in 0..jobs / CALLERS {
        let reply = client.post("/v1/queues/bench/jobs", None, job()).await;
        assert!(reply.expect("answered").status.is_success(), "accepted");
    }
}

async fn in_batches_by_http(url: String, jobs: usize) {
    let mut client = Client::connect(&url).await.expect("connected");
    let body = format!(r#"{{"jobs":[{}]}}"#, vec![job(); BATCH].join(","));
    for _ in 0..jobs / CALLERS / BATCH {
        let reply = client
            .post("/v1/queues/bench/jobs/batch", None, body.clone())
            .await;
        assert!(reply.expect("answered").status.is_success(), "accepted");
    }
}
