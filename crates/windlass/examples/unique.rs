//! Enqueueing twice without running twice: with an id that you choose, or with a unique key.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "report")]
struct Report {
    customer: u32,
}

async fn report(_: Report) -> Result<(), JobError> {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;

    // A job holds its key until it ends: one report per customer at a time.
    let first = client
        .enqueue(Report { customer: 7 })
        .unique_key("customer-7")
        .await?;
    let second = client
        .enqueue(Report { customer: 7 })
        .unique_key("customer-7")
        .await?;
    println!("second is a duplicate of {}", second.id());
    assert!(second.is_duplicate() && second.id() == first.id());

    // The same id is the same job, also for an hour after it ends, so the call can be repeated.
    client
        .enqueue(Report { customer: 8 })
        .id("report-8-june")
        .await?;
    Worker::new(client.clone())
        .handle(report)
        .burst()
        .run()
        .await?;
    let repeated = client
        .enqueue(Report { customer: 8 })
        .id("report-8-june")
        .await?;
    println!("repeated is a duplicate in state {}", repeated.state());
    assert!(repeated.is_duplicate() && repeated.state().is_final());

    // The first report has ended, so its key is free again.
    let third = client
        .enqueue(Report { customer: 7 })
        .unique_key("customer-7")
        .await?;
    assert!(!third.is_duplicate());
    Ok(())
}
