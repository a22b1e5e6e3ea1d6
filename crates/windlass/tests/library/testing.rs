//! The testing module: drains, the manual clock, and assertions about enqueued jobs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass::testing::{self, Testing};
use windlass::{Context, Data, JobError, Outcome, RetryPolicy, Worker};

use crate::jobs::{Add, Note};

async fn flaky(note: Note, context: Context) -> Result<(), JobError> {
    if context.attempt() < 3 {
        return Err(JobError::new(format!("{} is not there yet", note.text)));
    }
    Ok(())
}

#[tokio::test]
async fn a_drain_leaves_jobs_that_are_due_later() {
    let testing = Testing::new();
    let client = testing.client();
    let retry = RetryPolicy::fixed(Duration::from_secs(10));
    client.enqueue(Note::new("a")).retry(retry).await.unwrap();
    client
        .enqueue(Note::new("b"))
        .delay(Duration::from_secs(60))
        .await
        .unwrap();
    let worker = Worker::new(client).handle(flaky);

    assert_eq!(testing.drain(&worker).await.failed, 1);
    assert_eq!(testing.drain(&worker).await.failed, 0);
    testing.advance(Duration::from_secs(10));
    assert_eq!(testing.drain(&worker).await.failed, 1);
    let waiting = testing.enqueued::<Note>().await;
    assert_eq!(waiting, [Note::new("a"), Note::new("b")]);
}

#[tokio::test]
async fn drain_all_advances_the_clock_until_no_job_is_left() {
    let testing = Testing::new();
    let client = testing.client();
    let retry = RetryPolicy::fixed(Duration::from_secs(10));
    let began = testing.now();
    client
        .enqueue(Note::new("a"))
        .retry(retry)
        .delay(Duration::from_secs(60))
        .await
        .unwrap();

    let summary = testing.drain_all(&Worker::new(client).handle(flaky)).await;

    assert_eq!((summary.failed, summary.succeeded), (2, 1));
    assert_eq!(testing.now().since(began), Duration::from_secs(80));
}

#[tokio::test]
async fn a_drain_runs_what_its_jobs_enqueue() {
    async fn count(Add(n, _): Add, context: Context) -> Result<u64, JobError> {
        if n > 0 {
            context.enqueue(Add(n - 1, 0)).await?;
            context.enqueue(Note::new("down")).await?;
        }
        Ok(n)
    }
    async fn write(_: Note) -> Result<(), JobError> {
        Ok(())
    }
    let testing = Testing::new();
    testing.client().enqueue(Add(3, 0)).await.unwrap();
    let worker = Worker::new(testing.client()).handle(count).handle(write);

    assert_eq!(testing.drain(&worker).await.succeeded, 7);
}

#[tokio::test]
async fn a_released_job_does_not_keep_the_drain_running() {
    async fn release(_: Note) -> Result<(), JobError> {
        Err(JobError::release())
    }
    let testing = Testing::new();
    let client = testing.client();
    for text in ["a", "b"] {
        client.enqueue(Note::new(text)).await.unwrap();
    }

    let summary = testing.drain(&Worker::new(client).handle(release)).await;

    assert_eq!(summary.released, 2);
    let waiting = testing.enqueued::<Note>().await;
    assert_eq!(waiting, [Note::new("a"), Note::new("b")]);
}

#[tokio::test]
async fn jobs_at_most_once_are_not_retried() {
    async fn fail(_: Note, runs: Data<AtomicU32>) -> Result<(), JobError> {
        runs.fetch_add(1, Ordering::SeqCst);
        Err(JobError::new("lost"))
    }
    let testing = Testing::new();
    testing.client().enqueue(Note::new("a")).await.unwrap();
    let worker = Worker::new(testing.client())
        .handle(fail)
        .data(AtomicU32::new(0))
        .at_most_once();

    testing.drain_all(&worker).await;

    assert!(testing.enqueued::<Note>().await.is_empty());
}

#[tokio::test]
async fn a_result_that_is_too_large_ends_the_job() {
    let testing = Testing::new();
    testing
        .client()
        .enqueue_raw("big", "x")
        .kind("big")
        .id("big")
        .await
        .unwrap();
    let worker = Worker::new(testing.client())
        .queue("big")
        .handle_raw("big", async || Ok::<_, JobError>(vec![0; 10 * 1024 * 1024]));

    assert_eq!(testing.drain(&worker).await.dead, 1);

    let job = testing.client().get("big", "big").await.unwrap().unwrap();
    assert!(job.error.unwrap().contains("too large"));
}

#[tokio::test]
async fn what_was_enqueued_can_be_asserted() {
    let testing = Testing::new();
    let client = testing.client();
    client.enqueue(Add(1, 2)).queue("elsewhere").await.unwrap();
    client
        .enqueue(Add(3, 4))
        .delay(Duration::from_secs(1))
        .await
        .unwrap();

    testing.assert_enqueued::<Add>(|add| add.0 == 1).await;
    testing.assert_enqueued::<Add>(|add| add.0 == 3).await;
    assert!(testing.enqueued::<Note>().await.is_empty());
}

#[tokio::test]
#[should_panic(expected = "none of the 1 waiting jobs of kind \"sum.add\"")]
async fn a_failed_assertion_shows_what_was_enqueued() {
    let testing = Testing::new();
    testing.client().enqueue(Add(1, 2)).await.unwrap();
    testing.assert_enqueued::<Add>(|add| add.0 == 2).await;
}

#[tokio::test]
async fn a_single_handler_runs_with_the_given_attempt() {
    let run = |attempt| testing::run(flaky, Note::new("x")).attempt(attempt);
    assert_eq!(run(2).await, Outcome::failed("x is not there yet"));
    assert_eq!(run(3).await, Outcome::Done(None));
}

#[tokio::test]
async fn a_panic_of_a_single_handler_is_a_failure() {
    async fn write(_: Note) -> Result<(), JobError> {
        panic!("no ink")
    }
    let outcome = testing::run(write, Note::new("x")).await;
    assert_eq!(outcome, Outcome::failed("the handler panicked: no ink"));
}

#[tokio::test]
#[should_panic(expected = "it never ends")]
async fn a_job_that_snoozes_forever_does_not_hang_the_test() {
    async fn later(_: Note) -> Result<(), JobError> {
        Err(JobError::snooze(Duration::from_secs(1)))
    }
    let testing = Testing::new();
    testing.client().enqueue(Note::new("x")).await.unwrap();
    let worker = Worker::new(testing.client()).handle(later);
    testing.drain_all(&worker).await;
}
