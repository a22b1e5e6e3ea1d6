//! The worker with the real runtime: it starts, runs and stops, and does not start incomplete.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use windlass::runtime::{Source, Summary};
use windlass::{Client, Data, ErrorKind, JobError, JobState, WaitError, Worker};

use crate::jobs::{Add, Note};

async fn add(Add(a, b): Add) -> Result<u64, JobError> {
    Ok(a + b)
}

async fn memory() -> Client {
    Client::connect("memory:").await.unwrap()
}

#[tokio::test]
async fn missing_data_is_found_before_the_worker_starts() {
    async fn needy(_: Note, _: Data<Mutex<String>>) -> Result<(), JobError> {
        Ok(())
    }
    let error = Worker::new(memory().await)
        .handle(needy)
        .burst()
        .run()
        .await
        .unwrap_err();

    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    assert!(
        message.contains("Mutex<alloc::string::String>") && message.contains("needy"),
        "{message}"
    );
    assert!(error.help().contains("Worker::data"));
}

#[tokio::test]
async fn a_worker_with_invalid_options_does_not_start() {
    let client = memory().await;
    let worker = || Worker::new(client.clone());
    for (worker, text) in [
        (worker(), "no handler"),
        (worker().handle(add).handle(add), "both handle \"sum.add\""),
        (worker().handle(add).queue("a b"), "queue name"),
        (worker().handle(add).queue("a").queue("a"), "twice"),
        (worker().handle(add).concurrency(0), "concurrency"),
        (worker().handle(add).queue_weighted("a", 0), "weight 0"),
        (
            worker().handle(add).data(1_u8).data(2_u8),
            "two values of type u8",
        ),
        (
            worker().handle_raw("x", async || Ok::<_, JobError>(())),
            "no queue",
        ),
        (worker().handle(add).lease(Duration::ZERO), "lease"),
        (worker().handle(add).timeout(Duration::ZERO), "timeout"),
        (
            worker().handle(add).at_most_once().prefetch(1),
            "prefetched jobs",
        ),
    ] {
        let error = worker.start().unwrap_err();
        assert!(
            error.to_string().contains(text),
            "{error} does not contain {text:?}"
        );
        assert!(!error.help().is_empty());
    }
}

#[tokio::test]
async fn a_burst_ends_when_the_queue_is_empty_and_returns_a_summary() {
    let client = memory().await;
    let handle = client.enqueue(Add(1, 2)).await.unwrap();
    client
        .enqueue(Add(3, 4))
        .delay(Duration::from_millis(50))
        .await
        .unwrap();

    let summary = Worker::new(client.clone())
        .handle(add)
        .burst()
        .run()
        .await
        .unwrap();

    assert_eq!(summary.succeeded, 2);
    assert_eq!(client.wait(&handle).await.unwrap(), 3);
}

#[tokio::test]
async fn running_a_job_waits_for_its_output() {
    let client = memory().await;
    let running = Worker::new(client.clone()).handle(add).start().unwrap();

    assert_eq!(client.run(Add(20, 22)).await.unwrap(), 42);

    let summary: Summary = running.stop().await.unwrap();
    assert_eq!(summary.succeeded, 1);
}

#[tokio::test]
async fn a_worker_runs_until_a_future_completes() {
    let client = memory().await;
    let waiting = client.clone();
    let end = async move { waiting.run(Add(1, 1)).await.unwrap() };

    let summary = Worker::new(client)
        .handle(add)
        .run_until(end)
        .await
        .unwrap();

    assert_eq!(summary.succeeded, 1);
}

#[derive(Default)]
struct Gate {
    started: Notify,
    proceed: Notify,
}

#[tokio::test]
async fn a_stopped_worker_lets_its_job_end_within_the_grace_period() {
    async fn slow(_: Note, gate: Data<Arc<Gate>>) -> Result<(), JobError> {
        gate.started.notify_one();
        gate.proceed.notified().await;
        Ok(())
    }
    let (client, gate) = (memory().await, Arc::new(Gate::default()));
    let worker = Worker::new(client.clone()).handle(slow);
    let running = worker.data(Arc::clone(&gate)).start().unwrap();
    let note = client.enqueue(Note::new("x")).keep_outcome().await.unwrap();
    gate.started.notified().await;

    running.stopper().stop();
    gate.proceed.notify_one();

    assert_eq!(running.join().await.unwrap().succeeded, 1);
    client.wait(&note).await.unwrap();
}

#[tokio::test]
async fn a_worker_stopped_now_releases_its_jobs() {
    async fn stuck(_: Note, gate: Data<Arc<Gate>>) -> Result<(), JobError> {
        gate.started.notify_one();
        std::future::pending().await
    }
    let (client, gate) = (memory().await, Arc::new(Gate::default()));
    let worker = Worker::new(client.clone()).handle(stuck);
    let running = worker.data(Arc::clone(&gate)).start().unwrap();
    client.enqueue(Note::new("x")).id("x").await.unwrap();
    gate.started.notified().await;

    running.stopper().stop_now();
    let summary = running.join().await.unwrap();

    assert_eq!(summary.released, 1);
    let job = client.get("default", "x").await.unwrap().unwrap();
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
}

#[tokio::test]
async fn a_panic_fails_the_attempt_and_affects_no_other_job() {
    async fn write(note: Note) -> Result<(), JobError> {
        assert!(note.text != "panic", "out of ink");
        Ok(())
    }
    let client = memory().await;
    let never = windlass::RetryPolicy::never();
    let bad = client
        .enqueue(Note::new("panic"))
        .retry(never)
        .keep_outcome();
    let (bad, good) = (
        bad.await.unwrap(),
        client.enqueue(Note::new("x")).keep_outcome(),
    );
    let good = good.await.unwrap();

    let summary = Worker::new(client.clone())
        .handle(write)
        .burst()
        .run()
        .await
        .unwrap();

    assert_eq!((summary.succeeded, summary.dead), (1, 1));
    client.wait(&good).await.unwrap();
    let error = client.wait(&bad).await.unwrap_err();
    assert!(
        matches!(error, WaitError::Dead { error: Some(text), .. } if text.contains("out of ink"))
    );
}

#[tokio::test]
async fn a_worker_claims_only_from_the_given_queues() {
    let client = memory().await;
    let other = windlass::QueueName::new("other").unwrap();
    let here = client.enqueue(Add(1, 2)).queue("other").await.unwrap();
    let there = client.enqueue(Add(1, 2)).await.unwrap();

    let worker = Worker::new(client.clone())
        .handle(add)
        .queue_with(Source::new(other).concurrency(1));
    worker
        .strict_order()
        .name("one")
        .burst()
        .run()
        .await
        .unwrap();

    assert_eq!(client.wait(&here).await.unwrap(), 3);
    let job = client
        .get("sums", there.id().as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(job.state, JobState::Ready);
}

#[tokio::test]
async fn a_worker_can_be_spawned_and_a_job_enqueued_from_any_thread() {
    let client = memory().await;
    let adding = client.clone();
    let handle = tokio::spawn(async move { adding.enqueue(Add(1, 2)).await });
    let handle = handle.await.unwrap().unwrap();

    let worker = Worker::new(client.clone()).handle(add).burst();
    tokio::spawn(worker.run()).await.unwrap().unwrap();

    assert_eq!(client.wait(&handle).await.unwrap(), 3);
}
