//! One worker, many queues and many kinds of jobs: weighed, limited, or in strict order.

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use windlass::{Client, Context, Data, JobError, QueueName, Source, TypedJob, Worker};

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "mail.send", queue = "mail")]
struct Mail;

#[derive(Serialize, Deserialize, TypedJob)]
#[job(kind = "film.encode", queue = "films")]
struct Film;

type Seen = Arc<Mutex<Vec<String>>>;

fn see(context: &Context, seen: &Seen) {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.push(context.queue().to_string());
}

async fn send(_: Mail, context: Context, seen: Data<Seen>) -> Result<(), JobError> {
    see(&context, &seen);
    Ok(())
}

async fn encode(_: Film, context: Context, seen: Data<Seen>) -> Result<(), JobError> {
    see(&context, &seen);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (client, seen) = (Client::connect("memory:").await?, Seen::default());
    let worker = || {
        let worker = Worker::new(client.clone()).handle(send).handle(encode);
        worker.data(Arc::clone(&seen)).burst()
    };
    client.enqueue_many((0..3).map(|_| Film)).await;
    client.enqueue_many((0..3).map(|_| Mail)).await;

    // In strict order films wait until there is no mail.
    let strict = worker().queue("mail").queue("films").strict_order();
    strict.concurrency(1).run().await?;
    let order = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    println!("{order:?}");
    assert_eq!(order, ["mail", "mail", "mail", "films", "films", "films"]);

    // Weighed, mail is taken nine times as often, and films run one at a time.
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
