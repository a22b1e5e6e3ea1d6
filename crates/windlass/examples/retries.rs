//! What a handler returns decides whether its job is retried by policy, retried at a given time, or
//! dead.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::store::Reason;
use windlass::{Client, Context, JobError, RetryPolicy, TypedJob, WaitError, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "fetch", output = String)]
struct Fetch {
    from: String,
}

async fn fetch(job: Fetch, context: Context) -> Result<String, JobError> {
    println!("{}: attempt {}", job.from, context.attempt());
    match job.from.as_str() {
        // Any error is retried following the job's policy.
        "flaky" if context.attempt() < 3 => Err(std::io::Error::other("connection lost").into()),
        // The remote server named the time of the next attempt.
        "busy" if context.attempt() < 2 => {
            Err(JobError::retry_after(Duration::from_millis(20), "429"))
        }
        // A retry would not help.
        "gone" => Err(JobError::permanent("404")),
        _ => Ok(format!("the page of {}", job.from)),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let quick = RetryPolicy::fixed(Duration::from_millis(10)).max_attempts(5);
    let fetch_from = |from: &str| {
        let from = from.to_owned();
        client.enqueue(Fetch { from }).retry(quick).keep_outcome()
    };
    let flaky = fetch_from("flaky").await?;
    let busy = fetch_from("busy").await?;
    let gone = fetch_from("gone").await?;

    let worker = Worker::new(client.clone()).handle(fetch).burst();
    let summary = worker.run().await?;

    assert_eq!(client.wait(&flaky).await?, "the page of flaky");
    assert_eq!(client.wait(&busy).await?, "the page of busy");
    let error = client.wait(&gone).await;
    let is_permanent = |reason: &Option<Reason>| *reason == Some(Reason::Permanent);
    assert!(matches!(&error, Err(WaitError::Dead { reason, .. }) if is_permanent(reason)));
    assert_eq!((summary.succeeded, summary.failed, summary.dead), (2, 3, 1));
    Ok(())
}
