//! Typed results: the program enqueues a job and waits for its result, while a worker runs in the
//! background.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass::{Client, JobError, TypedJob, WaitError, Worker};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Quotient {
    whole: u32,
    rest: u32,
}

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "divide", output = Quotient)]
struct Divide {
    a: u32,
    b: u32,
}

async fn divide(Divide { a, b }: Divide) -> Result<Quotient, JobError> {
    if b == 0 {
        return Err(JobError::permanent("division by zero"));
    }
    let (whole, rest) = (a / b, a % b);
    Ok(Quotient { whole, rest })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let worker = Worker::new(client.clone()).handle(divide).start()?;

    // Enqueue and wait in one call.
    let quotient = client.run(Divide { a: 17, b: 5 }).await?;
    println!("17 / 5 = {quotient:?}");
    assert_eq!(quotient, Quotient { whole: 3, rest: 2 });

    // Errors are returned as well, and a wait can have a timeout.
    let handle = client.enqueue(Divide { a: 1, b: 0 }).keep_outcome().await?;
    match client.wait_for(&handle, Duration::from_secs(10)).await {
        Err(WaitError::Dead { error, .. }) => println!("dead: {}", error.unwrap_or_default()),
        other => return Err(format!("expected a dead job, got {other:?}").into()),
    }
    worker.stop().await?;
    Ok(())
}
