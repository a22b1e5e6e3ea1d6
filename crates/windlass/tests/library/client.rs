//! The client: what it stores and rejects, and what waiting for a job returns.

use std::time::Duration;

use windlass::store::{Changed, DurabilityLevel, Filter, Reason};
use windlass::testing::Testing;
use windlass::{
    Due, ErrorKind, JobError, JobState, NewJob, OnDuplicate, RetryPolicy, Timestamp, TypedJob,
    UniqueUntil, WaitError, Worker,
};

use crate::jobs::{Add, Note};

async fn add(Add(a, b): Add) -> Result<u64, JobError> {
    Ok(a + b)
}

#[tokio::test]
async fn a_typed_job_is_stored_as_json_under_its_kind() {
    let testing = Testing::new();
    let handle = testing.client().enqueue(Add(1, 2)).await.unwrap();

    let job = testing.client().get("sums", handle.id().as_str()).await;

    let job = job.unwrap().unwrap();
    assert_eq!(job.payload.unwrap(), "[1,2]");
    assert_eq!(job.kind.unwrap().as_str(), "sum.add");
    assert_eq!(job.headers.get("content-type"), Some("application/json"));
    assert_eq!(
        (handle.queue().as_str(), handle.state()),
        ("sums", JobState::Ready)
    );
    assert_eq!(
        (handle.is_duplicate(), handle.level()),
        (false, DurabilityLevel::Memory)
    );
}

#[tokio::test]
async fn every_option_reaches_the_store() {
    let testing = Testing::new();
    let retry = RetryPolicy::fixed(Duration::from_secs(7)).max_attempts(3);
    let hour = Duration::from_secs(3_600);
    let handle = testing
        .client()
        .enqueue(Add(1, 2))
        .queue("other")
        .id("mine")
        .priority(2)
        .delay(Duration::from_secs(60))
        .unique_key("key")
        .unique_for(hour)
        .on_duplicate(OnDuplicate::Postpone)
        .postpone_max(hour)
        .retry(retry)
        .timeout(Duration::from_secs(9))
        .expires(Due::After(hour))
        .header("tenant", "blue")
        .keep_outcome()
        .await
        .unwrap();

    let job = testing
        .client()
        .get("other", "mine")
        .await
        .unwrap()
        .unwrap();

    assert_eq!(handle.state(), JobState::Scheduled);
    assert!(job.is_named && job.keep_outcome);
    assert_eq!((job.priority.level(), job.retry), (2, retry));
    assert_eq!(job.due_at, testing.now().plus(Duration::from_secs(60)));
    assert_eq!(job.unique_key.unwrap().as_str(), "key");
    assert_eq!(job.unique_for, Some(hour));
    assert_eq!(job.timeout, Some(Duration::from_secs(9)));
    assert_eq!(job.expires_at, Some(testing.now().plus(hour)));
    assert_eq!(job.headers.get("tenant"), Some("blue"));
}

#[tokio::test]
async fn a_value_that_is_not_valid_is_the_error_of_the_await_and_nothing_is_stored() {
    let testing = Testing::new();
    let client = testing.client();
    let job = || client.enqueue(Note::new("x"));
    for (enqueue, text) in [
        (job().queue("a b"), "queue name"),
        (job().id(""), "job id"),
        (job().priority(10), "priority"),
        (job().unique_key("\n"), "unique key"),
        (job().header("a b", "c"), "header name"),
        (job().priority(11).queue("a b"), "priority"),
        (job().at(Timestamp::from_ms(u64::MAX)), "due time"),
        (job().unique_for(Duration::from_secs(1)), "unique_for"),
        (job().unique_until(UniqueUntil::Start), "unique_until"),
        (job().postpone_max(Duration::from_secs(1)), "postpone_max"),
    ] {
        let error = enqueue.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(text), "{error}");
    }
    assert!(testing.enqueued::<Note>().await.is_empty());
}

#[tokio::test]
async fn options_of_the_call_override_those_of_the_type() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Urgent;
    impl TypedJob for Urgent {
        const KIND: &'static str = "urgent";
        type Output = ();
        fn options(job: NewJob) -> NewJob {
            job.retry(RetryPolicy::never())
                .timeout(Duration::from_secs(1))
        }
    }
    let client = Testing::new().client();

    let id = client
        .enqueue(Urgent)
        .timeout(Duration::from_secs(2))
        .id("u");

    id.await.unwrap();
    let job = client.get("default", "u").await.unwrap().unwrap();
    assert_eq!(job.retry.max_attempts, 1);
    assert_eq!(job.timeout, Some(Duration::from_secs(2)));
}

#[tokio::test]
async fn a_duplicate_returns_the_id_of_the_first_job() {
    let client = Testing::new().client();
    let first = client.enqueue(Add(1, 2)).unique_key("k").await.unwrap();

    let second = client.enqueue(Add(3, 4)).unique_key("k").await.unwrap();

    assert!(second.is_duplicate() && !first.is_duplicate());
    assert_eq!(second.id(), first.id());
}

#[tokio::test]
async fn a_call_can_replace_or_postpone_a_waiting_job() {
    let testing = Testing::new();
    let client = testing.client();
    let minute = Duration::from_secs(60);
    let add = |b| client.enqueue(Add(1, b)).unique_key("k");
    let first = add(1).delay(minute).await.unwrap();

    let replaced = add(2).on_duplicate(OnDuplicate::Replace).await.unwrap();
    let postponed = add(3).on_duplicate(OnDuplicate::Postpone).delay(minute * 2);
    let postponed = postponed.postpone_max(minute + minute / 2).await.unwrap();

    assert!(replaced.is_replaced() && !replaced.is_postponed() && !replaced.is_duplicate());
    assert!(postponed.is_postponed() && !postponed.is_replaced() && !postponed.is_duplicate());
    assert!(replaced.id() == first.id() && postponed.id() == first.id());
    let job = client.get("sums", first.id().as_str()).await;
    let job = job.unwrap().unwrap();
    assert_eq!(job.payload.unwrap(), "[1,2]");
    assert_eq!(job.due_at, testing.now().plus(minute + minute / 2));
}

#[tokio::test]
async fn many_jobs_have_a_result_each_and_a_bad_one_affects_no_other() {
    let testing = Testing::new();
    let client = testing.client();
    let replies = client.enqueue_many((0..2_500).map(|n| Add(n, 0))).await;
    assert_eq!(replies.len(), 2_500);
    assert!(replies.iter().all(|reply| reply.is_ok()));
    let stored = testing.enqueued::<Add>().await;
    assert!(stored.iter().zip(0..).all(|(add, n)| add.0 == n));

    let large = NewJob::new(vec![0; 2 * 1024 * 1024]);
    let jobs = vec![NewJob::new("a"), large, NewJob::new("b")];
    let replies = client.enqueue_many_raw("bytes", jobs).await.unwrap();

    let is_ok: Vec<_> = replies.iter().map(|reply| reply.is_ok()).collect();
    assert_eq!(is_ok, [true, false, true]);
    let id = replies[2].as_ref().unwrap().id().clone();
    let job = client.get("bytes", id.as_str()).await.unwrap().unwrap();
    assert_eq!(job.payload.unwrap(), "b");
}

#[tokio::test]
async fn waiting_returns_the_output_of_the_handler() {
    let testing = Testing::new();
    let client = testing.client();
    let handle = client.enqueue(Add(40, 2)).await.unwrap();
    let raw = client.enqueue_raw("sums", "[1,1]").kind("sum.add");
    let raw = raw.await.unwrap();

    testing
        .drain(&Worker::new(client.clone()).handle(add))
        .await;

    assert_eq!(client.wait(&handle).await.unwrap(), 42);
    let bytes = client.wait_raw("sums", raw.id().as_str(), None).await;
    assert_eq!(bytes.unwrap().unwrap(), "2");
}

#[tokio::test]
async fn waiting_distinguishes_every_other_end() {
    async fn write(note: Note) -> Result<(), JobError> {
        match note.text.as_str() {
            "dead" => Err(JobError::permanent("no ink")),
            _ => Ok(()),
        }
    }
    let testing = Testing::new();
    let client = testing.client();
    let kept = |text: &str| client.enqueue(Note::new(text)).keep_outcome();
    let cancelled = kept("cancelled").await.unwrap();
    let changed = client.cancel("default", cancelled.id().as_str()).await;
    assert_eq!(changed.unwrap(), Changed::Done);
    let (dead, done) = (kept("dead").await.unwrap(), kept("done").await.unwrap());
    let unkept = client.enqueue(Note::new("unkept")).await.unwrap();
    testing
        .drain(&Worker::new(client.clone()).handle(write))
        .await;
    let late = kept("late").await.unwrap();

    client.wait(&done).await.unwrap();
    let error = client.wait(&dead).await.unwrap_err();
    assert!(
        matches!(&error, WaitError::Dead { reason: Some(Reason::Permanent), error: Some(text), .. } if text == "no ink")
    );
    assert!(matches!(
        client.wait(&cancelled).await,
        Err(WaitError::Cancelled)
    ));
    assert!(matches!(
        client.wait(&unkept).await,
        Err(WaitError::NotFound)
    ));
    let timed_out = client.wait_for(&late, Duration::from_millis(1)).await;
    assert!(matches!(timed_out, Err(WaitError::TimedOut)));
}

#[tokio::test]
async fn a_result_of_another_type_is_an_output_error() {
    let testing = Testing::new();
    let client = testing.client();
    let handle = client.enqueue(Add(1, 2)).await.unwrap();
    let worker = Worker::new(client.clone())
        .queue("sums")
        .handle_raw("sum.add", async || Ok::<_, JobError>("\"three\""));
    testing.drain(&worker).await;

    assert!(matches!(
        client.wait(&handle).await,
        Err(WaitError::Output(_))
    ));
}

#[tokio::test]
async fn header_functions_set_headers_and_the_job_overrides_them() {
    let client = Testing::new().client().with_headers(|headers| {
        headers.set("traceparent", "stamped").unwrap();
        headers.set("tenant", "stamped").unwrap();
    });
    client
        .enqueue(Note::new("x"))
        .id("one")
        .header("tenant", "own")
        .await
        .unwrap();
    let many = client
        .enqueue_many([Note::new("y")])
        .await
        .remove(0)
        .unwrap();

    let one = client.get("default", "one").await.unwrap().unwrap();
    assert_eq!(one.headers.get("traceparent"), Some("stamped"));
    assert_eq!(one.headers.get("tenant"), Some("own"));
    let many = client
        .get("default", many.id().as_str())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(many.headers.get("tenant"), Some("stamped"));
}

#[tokio::test]
async fn jobs_are_looked_up_by_queue_and_id() {
    let client = Testing::new().client();
    client.enqueue(Note::new("x")).id("n").await.unwrap();

    let page = client.list("default", &Filter::default(), None, 10).await;

    assert_eq!(page.unwrap().items[0].id.as_str(), "n");
    assert!(client.get("default", "other").await.unwrap().is_none());
    let changed = client.cancel("default", "other").await.unwrap();
    assert_eq!(changed, Changed::NotFound);
    assert!(client.get("not a queue", "n").await.is_err());
}
