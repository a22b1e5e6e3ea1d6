//! Jobs a second over HTTP, beside the same work by the library on the same store.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::Request;
use windlass::{Client, NewJob, Result};
use windlass_server::{CancellationToken, HttpClient as Caller, HttpServer, Options};

use crate::fault;
use crate::load::{QUEUE, payload, shares};
use crate::measure::{Round, over, real};
use crate::stage::Stage;

const JOBS: u64 = 64_000;

/// Callers that send one job, or one batch, at a time.
const CALLERS: usize = 64;

/// What an import hands to the store in one call.
const IMPORT_BATCH: u64 = 500;

/// How many imports run at once: each is one long stream.
const IMPORTS: usize = 4;

pub(super) async fn round(stage: &Stage<'_>) -> Result<Round> {
    let jobs = stage.plan.jobs_or(JOBS);
    let url = stage.place.fresh().await?;
    let client = stage.client(&url).await?;
    let options = Options::new(([127, 0, 0, 1], 0).into())?;
    let server = HttpServer::bind(Arc::clone(client.store()), options).await?;
    let door = Door {
        address: server.url(),
        body: format!(r#"{{"payload":"{}"}}"#, "x".repeat(stage.plan.payload)),
    };
    let stop = CancellationToken::new();
    // Dropped with this round, however it ends.
    let stopped = stop.clone().drop_guard();
    let serving = stage.tasks.spawn_lasting(server.run(stop));
    stage.progress.begin("http", jobs);

    let batch = stage.plan.batch as u64;
    let bytes = stage.plan.payload;
    let library = |batch: u64| {
        let client = client.clone();
        move |share: u64| by_library(client.clone(), share, batch, bytes)
    };
    let mut round = Round::default();
    for (name, callers, at_once) in [
        ("one_a_call", CALLERS, 1),
        ("batch_a_call", CALLERS, batch),
        ("import", IMPORTS, IMPORT_BATCH),
    ] {
        let plain = timed(stage, jobs, callers, library(at_once)).await?;
        let by_http = match name {
            "one_a_call" => timed(stage, jobs, callers, |it| door.clone().singly(it)).await?,
            "import" => timed(stage, jobs, callers, |it| door.clone().import(it)).await?,
            _ => {
                timed(stage, jobs, callers, |it| {
                    door.clone().in_batches(it, batch)
                })
                .await?
            }
        };
        round.note(format!("{name}.library_per_s"), plain);
        round.note(format!("{name}.http_per_s"), by_http);
        round.note_some(format!("{name}.ratio"), over(by_http, Some(plain)));
    }
    drop(stopped);
    serving.await.map_err(crate::tasks::panicked)?;
    Ok(round)
}

/// Runs the callers; jobs a second of all together.
async fn timed<F>(
    stage: &Stage<'_>,
    jobs: u64,
    callers: usize,
    work: impl Fn(u64) -> F,
) -> Result<f64>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let began = Instant::now();
    stage.tasks.all(shares(jobs, callers).map(work)).await?;
    stage.progress.reached(jobs);
    Ok(real(jobs) / began.elapsed().as_secs_f64())
}

async fn by_library(client: Client, jobs: u64, batch: u64, bytes: usize) -> Result<()> {
    let body = payload(bytes);
    let mut left = jobs;
    while left > 0 {
        let count = left.min(batch);
        let jobs = (0..count).map(|_| NewJob::new(body.clone())).collect();
        for enqueued in client.enqueue_many_raw(QUEUE, jobs).await? {
            enqueued?;
        }
        left -= count;
    }
    Ok(())
}

/// The HTTP door, and a job as it takes one.
#[derive(Debug, Clone)]
struct Door {
    address: String,
    body: String,
}

impl Door {
    async fn singly(self, jobs: u64) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let path = format!("/v1/queues/{QUEUE}/jobs");
        for _ in 0..jobs {
            post(&mut caller, &path, self.body.clone()).await?;
        }
        Ok(())
    }

    async fn in_batches(self, jobs: u64, batch: u64) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let path = format!("/v1/queues/{QUEUE}/jobs/batch");
        let mut left = jobs;
        while left > 0 {
            let count = left.min(batch);
            let jobs: Vec<&str> = (0..count).map(|_| self.body.as_str()).collect();
            let body = format!(r#"{{"jobs":[{}]}}"#, jobs.join(","));
            post(&mut caller, &path, body).await?;
            left -= count;
        }
        Ok(())
    }

    /// One long stream of lines, whose answers are read while it is sent.
    async fn import(self, jobs: u64) -> Result<()> {
        let mut caller = Caller::connect(&self.address).await?;
        let lines: String = (0..jobs).map(|_| format!("{}\n", self.body)).collect();
        let request = Request::post(format!("/v1/queues/{QUEUE}/jobs/import"))
            .header("content-type", "application/x-ndjson")
            .body(Body::from(lines));
        let reply = caller.send(request.map_err(fault::internal)?).await?;
        let answers = reply.body.split(|byte| *byte == b'\n');
        let accepted = answers
            .filter(|line| !line.is_empty() && !contains(line, b"\"error\""))
            .count() as u64;
        if accepted == jobs {
            Ok(())
        } else {
            let why = format!("an import of {jobs} jobs had {accepted} accepted");
            Err(fault::internal(why))
        }
    }
}

async fn post(caller: &mut Caller, path: &str, body: String) -> Result<()> {
    let reply = caller.post(path, None, body).await?;
    if reply.status.is_success() {
        return Ok(());
    }
    let body = String::from_utf8_lossy(&reply.body);
    Err(fault::internal(format!(
        "{path} answered {}: {body}",
        reply.status
    )))
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|window| window == part)
}
