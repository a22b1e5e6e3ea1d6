//! Middleware around every attempt: one hook measures the time, another reports failures.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, JobError, Next, Outcome, RetryPolicy, TypedJob, Worker};

static MEASURED: AtomicUsize = AtomicUsize::new(0);
static REPORTED: AtomicUsize = AtomicUsize::new(0);

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "work")]
struct Work(u32);

async fn work(Work(number): Work) -> Result<(), JobError> {
    match number {
        1 => Err(JobError::new("bad luck")),
        2 => panic!("very bad luck"),
        _ => Ok(()),
    }
}

async fn measure(context: Context, next: Next) -> Outcome {
    let (id, start) = (context.job().id.clone(), Instant::now());
    let outcome = next.run(context).await;
    println!("{id} {} after {:?}", outcome.as_str(), start.elapsed());
    MEASURED.fetch_add(1, Ordering::SeqCst);
    outcome
}

async fn report(context: Context, next: Next) -> Outcome {
    let is_last = context.is_last_attempt();
    let outcome = next.run(context).await;
    if let Outcome::Failed { error, .. } = &outcome {
        println!("reported to the error tracker: {error} (last attempt: {is_last})");
        REPORTED.fetch_add(1, Ordering::SeqCst);
    }
    outcome
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    for number in 0..3 {
        client
            .enqueue(Work(number))
            .retry(RetryPolicy::never())
            .await?;
    }

    // The first hook is the outermost.
    let worker = Worker::new(client)
        .handle(work)
        .middleware(measure)
        .middleware(report);
    let summary = worker.burst().run().await?;

    assert_eq!((summary.succeeded, summary.dead), (1, 2));
    assert_eq!(MEASURED.load(Ordering::SeqCst), 3);
    assert_eq!(REPORTED.load(Ordering::SeqCst), 2);
    Ok(())
}
