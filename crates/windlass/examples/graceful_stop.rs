//! A graceful stop: handlers that listen get time to finish. The others are dropped and their jobs
//! released, with the attempt not counted.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use windlass::{Client, Context, Data, JobError, JobState, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "work")]
struct Work {
    is_listening: bool,
}

async fn work(job: Work, context: Context, started: Data<Arc<Semaphore>>) -> Result<(), JobError> {
    started.add_permits(1);
    if job.is_listening {
        let reason = context.stopped().await;
        println!("asked to stop: {}; saving what is done", reason.as_str());
        return Ok(());
    }
    std::future::pending().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let client = Client::connect(&url).await?;
    let listening = Work { is_listening: true };
    client
        .enqueue(listening)
        .id("listening")
        .keep_outcome()
        .await?;
    let deaf = Work {
        is_listening: false,
    };
    client.enqueue(deaf).id("deaf").await?;

    // A service calls `worker.run()`, which stops in the same way on SIGTERM and Ctrl-C.
    let started = Arc::new(Semaphore::new(0));
    let worker = Worker::new(client.clone())
        .handle(work)
        .data(Arc::clone(&started));
    // Handlers that listen are asked to stop after half of the grace period.
    let worker = worker.grace(Duration::from_secs(8)).start()?;
    let _both = started.acquire_many(2).await?;
    let summary = worker.stop().await?;

    println!("{summary:?}");
    assert_eq!((summary.succeeded, summary.released), (1, 1));
    let job = client
        .get("default", "deaf")
        .await?
        .ok_or("the job is missing")?;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    Ok(())
}
