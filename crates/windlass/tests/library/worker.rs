//! The worker with the real runtime: it starts, runs, stops, and refuses to start half equipped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use windlass::{Client, Data, ErrorKind, JobError, JobState, Source, Summary, WaitError, Worker};

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
    let said = error.to_string();
    assert!(
        said.contains("Mutex<alloc::string::String>") && said.contains("needy"),
        "{said}"
    );
    assert!(error.help().contains("Worker::data"));
}

#[tokio::test]
async fn a_worker_that_cannot_work_says_why() {
    let client = memory().await;
    let worker = || Worker::new(client.clone());
    for (worker, word) in [
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
            "held ready",
        ),
    ] {
        let error = worker.start().unwrap_err();
        assert!(error.to_string().contains(word), "{error} has no {word:?}");
        assert!(!error.help().is_empty());
    }
}

#[tokio::test]
async fn a_burst_ends_when_nothing_is_left_and_says_what_was_done() {
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
async fn running_a_job_waits_for_what_a_worker_returns() {
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
    go_on: Notify,
}

#[tokio::test]
async fn a_stopped_worker_lets_its_job_end_within_the_grace() {
    async fn slow(_: Note, gate: Data<Arc<Gate>>) -> Result<(), JobError> {
        gate.started.notify_one();
        gate.go_on.notified().await;
        Ok(())
    }
    let (client, gate) = (memory().await, Arc::new(Gate::default()));
    let worker = Worker::new(client.clone()).handle(slow);
    let running = worker.data(Arc::clone(&gate)).start().unwrap();
    let note = client.enqueue(Note::new("x")).keep_outcome().await.unwrap();
    gate.started.notified().await;

    running.stopper().stop();
    gate.go_on.notify_one();

    assert_eq!(running.join().await.unwrap().succeeded, 1);
    client.wait(&note).await.unwrap();
}

#[tokio::test]
async fn a_worker_stopped_now_gives_its_jobs_back() {
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
async fn a_panic_is_a_failed_attempt_and_its_neighbours_are_unharmed() {
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
        matches!(error, WaitError::Dead { error: Some(said), .. } if said.contains("out of ink"))
    );
}

#[tokio::test]
async fn a_worker_serves_the_queues_that_it_was_given() {
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
