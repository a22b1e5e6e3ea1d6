//! Priorities go from 0 (first) to 9 (last). Within a priority, jobs run first in, first out.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use windlass::{Client, Data, JobError, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "letter")]
struct Letter(String);

type Order = Arc<Mutex<Vec<String>>>;

async fn send(Letter(name): Letter, order: Data<Order>) -> Result<(), JobError> {
    order
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(name);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("memory:").await?;
    for (name, priority) in [("a", 5), ("b", 9), ("c", 0), ("d", 5)] {
        client
            .enqueue(Letter(name.to_owned()))
            .priority(priority)
            .await?;
    }

    let order = Order::default();
    let worker = Worker::new(client).handle(send).data(Arc::clone(&order));
    worker.concurrency(1).burst().run().await?;

    let order = order.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{order:?}");
    assert_eq!(*order, ["c", "a", "d", "b"]);
    Ok(())
}
