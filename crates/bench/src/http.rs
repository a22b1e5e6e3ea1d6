//! Jobs a second over HTTP, beside the same work by the library on the same store in the same run.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::Request;
use windlass_core::{NewJob, QueueName, Store};
use windlass_server::{CancellationToken, Client, Options, Server};
use windlass_store_redis::RedisStore;
use windlass_store_sqlite::SqliteStore;
use windlass_testkit::redis::ServerOptions;

use crate::sample::Sample;

const ROUNDS: usize = 5;
const CALLERS: usize = 64;
const BATCH: usize = 100;
/// What an import hands to the store in one call.
const IMPORT_BATCH: usize = 500;
/// How many imports run at once: each is one long stream.
const IMPORTS: usize = 4;

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
    let mut samples: [Sample; 6] = Default::default();
    for _ in 0..ROUNDS {
        let queue = QueueName::new("bench").expect("a good name");
        let library = |callers, batch| {
            let (store, queue) = (Arc::clone(&store), queue.clone());
            move || by_library(Arc::clone(&store), queue.clone(), jobs / callers, batch)
        };
        let figures = [
            timed(jobs, CALLERS, 1, library(CALLERS, 1)).await,
            timed(jobs, CALLERS, 1, || singly_by_http(url.clone(), jobs)).await,
            timed(jobs, CALLERS, BATCH, library(CALLERS, BATCH)).await,
            timed(jobs, CALLERS, BATCH, || {
                in_batches_by_http(url.clone(), jobs)
            })
            .await,
            timed(jobs, IMPORTS, IMPORT_BATCH, library(IMPORTS, IMPORT_BATCH)).await,
            timed(jobs, IMPORTS, IMPORT_BATCH, || {
                import_by_http(url.clone(), jobs)
            })
            .await,
        ];
        for (sample, figure) in samples.iter_mut().zip(figures) {
            sample.push(figure);
        }
        while store.purge(&queue).await.expect("purged") > 0 {}
    }
    stop.cancel();
    serving.await.expect("no panic");
    let medians = samples.map(|sample| sample.median());
    let titles = [
        "one a call".to_owned(),
        format!("{BATCH} a call"),
        format!("{IMPORTS} imports, {IMPORT_BATCH} a call"),
    ];
    for (title, pair) in titles.iter().zip(medians.chunks(2)) {
        let (library, http) = (pair[0], pair[1]);
        println!(
            "{name}: {title}: library {library:.0}, HTTP {http:.0} ({:.2})",
            http / library
        );
    }
}

/// Runs the callers; jobs a second of all together.
async fn timed<F>(jobs: usize, callers: usize, batch: usize, work: impl Fn() -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let began = Instant::now();
    let running: Vec<_> = (0..callers).map(|_| tokio::spawn(work())).collect();
    for caller in running {
        caller.await.expect("a caller ends well");
    }
    let done = jobs / callers / batch * batch * callers;
    done as f64 / began.elapsed().as_secs_f64()
}

async fn by_library(store: Arc<dyn Store>, queue: QueueName, jobs: usize, batch: usize) {
    for _ in 0..jobs / batch {
        let batch = (0..batch).map(|_| NewJob::new(vec![b'x'; 100])).collect();
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

/// One long stream of lines, whose answers are read while it is sent.
async fn import_by_http(url: String, jobs: usize) {
    let mut client = Client::connect(&url).await.expect("connected");
    let lines = jobs / IMPORTS / IMPORT_BATCH * IMPORT_BATCH;
    let request = Request::post("/v1/queues/bench/jobs/import")
        .header("content-type", "application/x-ndjson")
        .body(Body::from(format!("{}\n", job()).repeat(lines)));
    let reply = client.ask(request.expect("a good request")).await;
    let body = reply.expect("answered").body;
    let answers = body
        .split(|byte| *byte == b'\n')
        .filter(|it| !it.is_empty());
    let accepted = answers.filter(|line| !contains(line, b"\"error\""));
    assert_eq!(accepted.count(), lines, "all accepted");
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}
