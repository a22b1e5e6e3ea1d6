//! Your first job: enqueue it, run it, and get its result. No server is needed.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

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
    // With sqlite:jobs.db or redis://localhost the job survives this program.
    let client = Client::connect("memory:").await?;
    let name = "Ann".to_owned();
    let handle = client.enqueue(Greet { name }).await?;
    println!("enqueued {} ({:?})", handle.id(), handle.level());

    // `burst` stops when no jobs are left. Without it, the worker runs until SIGTERM or Ctrl-C.
    let worker = Worker::new(client.clone()).handle(greet).burst();
    let summary = worker.run().await?;

    let greeting = client.wait(&handle).await?;
    println!("{greeting}");
    assert_eq!((greeting.as_str(), summary.succeeded), ("hello, Ann", 1));
    Ok(())
}
