//! At most once: a job counts as succeeded as soon as it is handed out. It never runs twice, but can be
//! lost.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use windlass::{Client, Data, JobError, JobState, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "push.notify", queue = "push")]
struct Notify;

async fn notify(_: Notify, runs: Data<Arc<AtomicU32>>) -> Result<(), JobError> {
    runs.fetch_add(1, Ordering::SeqCst);
    Err(JobError::new("the phone is off"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, runs) = (
        Client::connect("memory:").await?,
        Arc::new(AtomicU32::new(0)),
    );
    client.enqueue(Notify).id("n").keep_outcome().await?;

    let worker = Worker::new(client.clone())
        .handle(notify)
        .data(Arc::clone(&runs));
    worker.at_most_once().burst().run().await?;

    let job = client
        .get("push", "n")
        .await?
        .ok_or("the job is not kept")?;
    println!(
        "ran {} time(s); state: {}",
        runs.load(Ordering::SeqCst),
        job.state
    );
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(job.state, JobState::Succeeded);
    Ok(())
}
