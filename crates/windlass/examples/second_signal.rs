//! A second signal stops a worker immediately: it does not wait for the grace period, and releases its
//! jobs.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, JobState, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "endless")]
struct Endless;

/// The job plays the operator: it sends two signals to its own process.
async fn endless(_: Endless) -> Result<(), JobError> {
    let pid = std::process::id().to_string();
    for signal in ["-TERM", "-INT"] {
        Command::new("kill").args([signal, &pid]).status()?;
    }
    std::future::pending().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    client.enqueue(Endless).id("endless").await?;
    let start = Instant::now();

    let worker = Worker::new(client.clone()).handle(endless);
    let summary = worker.grace(Duration::from_secs(3_600)).run().await?;

    println!("{summary:?} after {:?}", start.elapsed());
    assert_eq!(summary.released, 1);
    let job = client
        .get("default", "endless")
        .await?
        .ok_or("the job is missing")?;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    Ok(())
}
