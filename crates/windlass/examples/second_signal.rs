//! A second signal means now: the worker does not wait for the grace, and gives its jobs back.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, JobState, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "endless")]
struct Endless;

/// The job plays the operator, who is in a hurry.
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
    let began = Instant::now();

    let worker = Worker::new(client.clone()).handle(endless);
    let summary = worker.grace(Duration::from_secs(3_600)).run().await?;

    println!("{summary:?} after {:?}", began.elapsed());
    assert_eq!(summary.released, 1);
    let job = client
        .get("default", "endless")
        .await?
        .ok_or("it is still there")?;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    Ok(())
}
