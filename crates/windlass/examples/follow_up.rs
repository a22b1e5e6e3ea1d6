//! A job that enqueues follow-up jobs: each once, however often it runs, and with its trace.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, RetryPolicy, TypedJob, Worker};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "order.place")]
struct Order {
    items: u32,
}

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "order.pack", queue = "packing")]
struct Pack {
    item: u32,
}

async fn place(order: Order, context: Context) -> Result<(), JobError> {
    for item in 0..order.items {
        // An id derived from this job's id makes a repeated attempt harmless.
        let id = format!("{}/{item}", context.job().id);
        let packed = context.enqueue(Pack { item }).id(&id).await?;
        println!(
            "attempt {}: enqueued {} (duplicate: {})",
            context.attempt(),
            packed.id(),
            packed.is_duplicate()
        );
    }
    if context.attempt() == 1 {
        return Err(JobError::new("connection lost half-way"));
    }
    Ok(())
}

async fn pack(_: Pack, context: Context) -> Result<(), JobError> {
    if context.job().headers.get("traceparent") != Some(TRACE) {
        return Err(JobError::permanent("the trace is missing"));
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A stamp adds headers to every job that this client enqueues. Follow-up jobs inherit the trace.
    let client = Client::connect("memory:").await?;
    let stamped = client.clone().with_headers(|headers| {
        let _ = headers.set("traceparent", TRACE);
    });
    let quick = RetryPolicy::fixed(Duration::from_millis(10));
    stamped.enqueue(Order { items: 3 }).retry(quick).await?;

    let worker = Worker::new(client).handle(place).handle(pack);
    let summary = worker.burst().run().await?;

    assert_eq!((summary.succeeded, summary.failed, summary.dead), (4, 1, 0));
    Ok(())
}
