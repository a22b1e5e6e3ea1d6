//! Jobs per second over HTTP, compared with the library on the same store.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::Request;
use windlass::{Client, NewJob, Result};
use windlass_server::{CancellationToken, HttpClient as Caller, HttpServer, Options};

use crate::context::BenchContext;
use crate::error;
use crate::load::{QUEUE, batches, enqueue, payload, shares};
use crate::measure::{Round, over, real};

const JOBS: u64 = 64_000;

/// Concurrent callers that send one job or batch at a time.
const CALLERS: usize = 64;

/// Jobs per call of the library when compared with an import.
const IMPORT_BATCH: usize = 500;

/// Concurrent imports; each is one long stream.
const IMPORTS: usize = 4;

pub(super) async fn round(context: &BenchContext<'_>) -> Result<Round> {
    let jobs = context.plan.jobs_or(JOBS);
    let url = context.target.fresh().await?;
    let client = context.client(&url).await?;
    let options = Options::new(([127, 0, 0, 1], 0).into())?;
    let server = HttpServer::bind(Arc::clone(client.store()), options).await?;
    let api = HttpApi {
        address: server.url(),
        body: format!(r#"{{"payload":"{}"}}"#, "x".repeat(context.plan.payload)),
    };
    let stop = CancellationToken::new();
    // Stops the server when this round ends, also on an error.
    let stopped = stop.clone().drop_guard();
    let serving = context.tasks.spawn_detached(server.run(stop));
    context.progress.begin("http", jobs);

    let batch = context.plan.batch;
    let bytes = context.plan.payload;
    let library = |batch: usize| {
        let client = client.clone();
        move |share: u64| by_library(client.clone(), share, batch, bytes)
    };
    let mut round = Round::default();
    for (name, callers, at_once) in [
        ("one_a_call", CALLERS, 1),
        ("batch_a_call", CALLERS, batch),
        ("import", IMPORTS, IMPORT_BATCH),
    ] {
        let by_library_rate = timed(context, jobs, callers, library(at_once)).await?;
        let by_http = match name {
            "one_a_call" => timed(context, jobs, callers, |it| api.clone().singly(it)).await?,
            "import" => timed(context, jobs, callers, |it| api.clone().import(it)).await?,
            _ => {
                let call = |it| api.clone().in_batches(it, batch);
                timed(context, jobs, callers, call).await?
            }
        };
        round.record(format!("{name}.library_per_s"), by_library_rate);
        round.record(format!("{name}.http_per_s"), by_http);
        round.record_some(
            format!("{name}.ratio"),
            over(by_http, Some(by_library_rate)),
        );
    }
    drop(stopped);
    serving.await.map_err(crate::tasks::panicked)?;
    Ok(round)
}

/// Runs the callers. Returns their total jobs per second.
async fn timed<F>(
    context: &BenchContext<'_>,
    jobs: u64,
    callers: usize,
    work: impl Fn(u64) -> F,
) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let began = Instant::now();
    context.tasks.all(shares(jobs, callers).map(work)).await?;
    context.progress.reached(jobs);
    Ok(real(jobs) / began.elapsed().as_secs_f64())
}

async fn by_library(client: Client, jobs: u64, batch: usize, bytes: usize) -> Result<()> {
    let body = payload(bytes);
    for count in batches(jobs, batch) {
        let jobs = (0..count).map(|_| NewJob::new(body.clone()));
        enqueue(&client, jobs.collect()).await?;
    }
    Ok(())
}

/// The HTTP API, and a job as JSON.
#[derive(Debug, Clone)]
struct HttpApi {
    address: String,
    body: String,
}

impl HttpApi {
    async fn singly(self, jobs: u64) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let path = format!("/v1/queues/{QUEUE}/jobs");
        for _ in 0..jobs {
            post(&mut caller, &path, self.body.clone()).await?;
        }
        Ok(())
    }

    async fn in_batches(self, jobs: u64, batch: usize) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let path = format!("/v1/queues/{QUEUE}/jobs/batch");
        for count in batches(jobs, batch) {
            let jobs: Vec<&str> = (0..count).map(|_| self.body.as_str()).collect();
            let body = format!(r#"{{"jobs":[{}]}}"#, jobs.join(","));
            post(&mut caller, &path, body).await?;
        }
        Ok(())
    }

    /// One long stream of lines, whose replies are read while it is sent.
    async fn import(self, jobs: u64) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let lines: String = (0..jobs).map(|_| format!("{}\n", self.body)).collect();
        let request = Request::post(format!("/v1/queues/{QUEUE}/jobs/import"))
            .header("content-type", "application/x-ndjson")
            .body(Body::from(lines));
        let reply = caller.send(request.map_err(error::internal)?).await?;
        let replies = reply.body.split(|byte| *byte == b'\n');
        let accepted = replies
            .filter(|line| !line.is_empty() && !contains(line, b"\"error\""))
            .count() as u64;
        if accepted == jobs {
            Ok(())
        } else {
            let why = format!("expected {jobs} imported jobs, got {accepted}");
            Err(error::internal(why))
        }
    }
}

async fn post(caller: &mut Caller, path: &str, body: String) -> Result<()> {
    let reply = caller.post(path, None, body).await?;
    if reply.status.is_success() {
        return Ok(());
    }
    let body = String::from_utf8_lossy(&reply.body);
    Err(error::internal(format!(
        "{path} replied {}: {body}",
        reply.status
    )))
}

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|window| window == text)
}
