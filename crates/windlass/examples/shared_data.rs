//! Handlers share data, which they request by type. A worker does not start if some is missing.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use windlass::{Client, Data, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "count")]
struct Count(u64);

struct Config {
    factor: u64,
}

async fn count(
    Count(number): Count,
    config: Data<Config>,
    total: Data<Arc<AtomicU64>>,
) -> Result<(), JobError> {
    total.fetch_add(number * config.factor, Ordering::SeqCst);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    let results = client.enqueue_many((1..=10).map(Count)).await;
    assert!(results.iter().all(|result| result.is_ok()));
    let total = Arc::new(AtomicU64::new(0));

    let without_config = Worker::new(client.clone())
        .handle(count)
        .data(Arc::clone(&total));
    let error = without_config
        .run()
        .await
        .err()
        .ok_or("the worker started without its data")?;
    println!("{error}\nhelp: {}", error.help());
    assert!(error.to_string().contains("Config"));

    let worker = Worker::new(client).handle(count);
    let worker = worker.data(Arc::clone(&total)).data(Config { factor: 2 });
    worker.burst().run().await?;

    println!("total {}", total.load(Ordering::SeqCst));
    assert_eq!(total.load(Ordering::SeqCst), 110);
    Ok(())
}
