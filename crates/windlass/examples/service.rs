//! A worker as a service: it runs until SIGTERM, and finishes the jobs it has started.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::process::Command;

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, JobState, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "work")]
struct Work;

/// The job plays the operator: it sends SIGTERM to its own process while it runs.
async fn work(_: Work) -> Result<(), JobError> {
    let pid = std::process::id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status()?;
    println!("sent SIGTERM: {sent}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let client = Client::connect(&url).await?;
    client.enqueue(Work).id("work").keep_outcome().await?;

    let worker = Worker::new(client.clone()).handle(work).concurrency(4);
    let summary = worker.run().await?; // until SIGTERM or Ctrl-C; a second signal stops it immediately

    println!("{summary:?}");
    assert_eq!(summary.succeeded, 1);
    let job = client
        .get("default", "work")
        .await?
        .ok_or("the job is not kept")?;
    assert_eq!(job.state, JobState::Succeeded);
    Ok(())
}
