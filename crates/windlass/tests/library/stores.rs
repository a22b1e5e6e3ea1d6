//! The same program on every store: only its URL differs.

use windlass::store::Filter;
use windlass::{Client, Context, JobError, Worker};
use windlass_testkit::redis::Server;

use crate::jobs::{Add, Note};

async fn add(Add(a, b): Add, context: Context) -> Result<u64, JobError> {
    if a > 0 {
        context.enqueue(Note::new("added")).await?;
    }
    Ok(a + b)
}

async fn write(_: Note) -> Result<(), JobError> {
    Ok(())
}

async fn works_on(url: &str) {
    let client = Client::connect(url).await.unwrap();
    let worker = Worker::new(client.clone()).handle(add).handle(write);
    let running = worker.start().unwrap();
    let replies = client.enqueue_many((0..100).map(|n| Add(0, n))).await;
    assert!(replies.iter().all(|reply| reply.is_ok()));

    assert_eq!(client.run(Add(20, 22)).await.unwrap(), 42);
    for (n, reply) in replies.iter().enumerate() {
        let sum = client.wait(reply.as_ref().unwrap()).await.unwrap();
        assert_eq!(sum, n as u64);
    }
    running.stop().await.unwrap();

    let rest = Worker::new(client.clone()).handle(add).handle(write);
    rest.burst().run().await.unwrap();
    let left = client.list("default", &Filter::default(), None, 1).await;
    assert!(left.unwrap().items.is_empty());
}

#[tokio::test]
async fn typed_jobs_run_in_memory() {
    works_on("memory:").await;
}

#[tokio::test]
async fn typed_jobs_run_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    works_on(&format!(
        "sqlite:{}",
        folder.path().join("jobs.db").display()
    ))
    .await;
}

#[tokio::test]
async fn typed_jobs_run_on_redis() {
    let server = Server::start();
    works_on(&server.url()).await;
}
