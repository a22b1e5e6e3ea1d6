//! The first job: enqueue it, run it, and get what it returned. No service is needed.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "greet", output = String)]
struct Greet {
    name: String,
}

async fn greet(job: Greet) -> Result<String, JobError> {
    Ok(format!("hello, {}", job.name))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With sqlite:jobs.db or redis://localhost the job would outlive this program.
    let client = Client::connect("memory:").await?;
    let name = "Ann".to_owned();
    let handle = client.enqueue(Greet { name }).await?;
    println!("enqueued {} ({:?})", handle.id(), handle.level());

    // A burst ends when nothing is left; without it, on SIGTERM or Ctrl-C.
    let worker = Worker::new(client.clone()).handle(greet).burst();
    let summary = worker.run().await?;

    let said = client.wait(&handle).await?;
    println!("{said}");
    assert_eq!((said.as_str(), summary.succeeded), ("hello, Ann", 1));
    Ok(())
}
