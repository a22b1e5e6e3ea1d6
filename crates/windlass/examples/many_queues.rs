//! One worker for many queues and kinds of jobs: weighted, limited, or in strict order.

#![expect(clippy::print_stdout, reason = "examples print what happens")]

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use windlass::runtime::Source;
use windlass::{Client, Context, Data, JobError, QueueName, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", queue = "mail")]
struct Mail;

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "film.encode", queue = "films")]
struct Film;

type Order = Arc<Mutex<Vec<String>>>;

fn record(context: &Context, order: &Order) {
    let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
    order.push(context.queue().to_string());
}

async fn send(_: Mail, context: Context, order: Data<Order>) -> Result<(), JobError> {
    record(&context, &order);
    Ok(())
}

async fn encode(_: Film, context: Context, order: Data<Order>) -> Result<(), JobError> {
    record(&context, &order);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, order) = (Client::connect("memory:").await?, Order::default());
    let worker = || {
        let worker = Worker::new(client.clone()).handle(send).handle(encode);
        worker.data(Arc::clone(&order)).burst()
    };
    client.enqueue_many((0..3).map(|_| Film)).await;
    client.enqueue_many((0..3).map(|_| Mail)).await;

    // In strict order, films wait until the mail queue is empty.
    let strict = worker().queue("mail").queue("films").strict_order();
    strict.concurrency(1).run().await?;
    let ran = std::mem::take(&mut *order.lock().unwrap_or_else(PoisonError::into_inner));
    println!("{ran:?}");
    assert_eq!(ran, ["mail", "mail", "mail", "films", "films", "films"]);

    // Weighted: mail is claimed nine times as often, and films run one at a time.
    client.enqueue_many((0..3).map(|_| Film)).await;
    client.enqueue_many((0..3).map(|_| Mail)).await;
    let films = Source::new(QueueName::new("films")?).concurrency(1);
    let summary = worker()
        .queue_weighted("mail", 9)
        .queue_with(films)
        .run()
        .await?;
    assert_eq!(summary.succeeded, 6);
    Ok(())
}
