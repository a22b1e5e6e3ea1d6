//! Jobs of Windlass alone: submit, move, take and end them.

use std::time::Duration;

use windlass_core::{Due, ErrorKind, Timestamp};
use windlass_interop::InteropServer;
use windlass_interop::delayed_queue::{AckStatus, DelayedCounts, DelayedQueue, PREFIX, ReturnTo};

use crate::fixture::{FUTURE, Fixture, NO_WAIT, PAST};

#[tokio::test]
async fn a_job_is_stored_as_the_original_stores_it() {
    let fixture = Fixture::new().await;
    let due = Due::At(Timestamp::from_ms(FUTURE * 1000 - 999));
    let id = fixture.queue.submit("dear Ann", due).await.unwrap();
    assert_eq!((id.len(), id.to_lowercase()), (26, id.clone()));
    assert_eq!(fixture.backlog(), [id.as_str()]);
    let score = fixture
        .command(&format!("ZSCORE {PREFIX}:jobs {id}"))
        .text();
    assert_eq!(score, FUTURE.to_string(), "rounded up to whole seconds");
    let fields = fixture.command(&format!("HGETALL {PREFIX}:job:{id}"));
    let fields: Vec<_> = fields.array().iter().map(|field| field.text()).collect();
    assert_eq!(fields, ["payload", "dear Ann", "dueTime", &score]);
}

#[tokio::test]
async fn only_due_jobs_are_moved_the_earliest_first() {
    let fixture = Fixture::new().await;
    let queue = &fixture.queue;
    let at = |seconds: u64| Due::At(Timestamp::from_ms(seconds * 1000));
    let second = queue.submit("b", at(20)).await.unwrap();
    let first = queue.submit("a", at(10)).await.unwrap();
    let hour = Due::After(Duration::from_secs(3600));
    let later = queue.submit("c", hour).await.unwrap();
    assert_eq!(queue.move_due().await.unwrap(), 2);
    assert_eq!(fixture.line(), [first, second]);
    assert_eq!(fixture.backlog(), [later]);
    let counts = queue.counts().await.unwrap();
    let expected = DelayedCounts {
        delayed: 1,
        due: 2,
        unacked: 0,
    };
    assert_eq!(counts, expected);
}

#[tokio::test]
async fn more_due_jobs_than_a_page_are_moved_in_order() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for _ in 0..1_200 {
        ids.push(fixture.queue.submit("x", PAST).await.unwrap());
    }
    assert_eq!(fixture.queue.move_due().await.unwrap(), 1_200);
    assert_eq!(fixture.line(), ids);
}

#[tokio::test]
async fn an_acknowledged_job_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let id = fixture.due("dear Ann").await;
    let job = fixture.take().await;
    assert_eq!(
        (job.id.as_str(), &job.payload[..]),
        (&*id, &b"dear Ann"[..])
    );
    assert_eq!(job.due_time, Some(Timestamp::from_ms(1_000)));
    assert_eq!(
        fixture.field(&id, "pickupTime"),
        Some(job.pickup_time.to_string())
    );
    assert_eq!(fixture.unacked(), [id]);
    assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Done);
    assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Gone);
    fixture.assert_empty("after the ack");
}

#[tokio::test]
async fn a_job_that_was_not_finished_goes_where_its_worker_says() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.due("a").await, fixture.due("b").await);
    let queue = &fixture.queue;
    for (to, line) in [
        (ReturnTo::Front, [&a, &b]),
        (ReturnTo::Back, [&b, &a]),
        (ReturnTo::Front, [&b, &a]),
    ] {
        let job = fixture.take().await;
        assert_eq!(queue.nack(&job, to).await.unwrap(), AckStatus::Done);
        assert_eq!(fixture.line().iter().collect::<Vec<_>>(), line);
        assert_eq!(queue.ack(&job).await.unwrap(), AckStatus::Gone);
    }
    let job = fixture.take().await;
    let hour = ReturnTo::Backlog(Duration::from_secs(3600));
    assert_eq!(queue.nack(&job, hour).await.unwrap(), AckStatus::Done);
    assert_eq!(fixture.backlog(), [b]);
    assert_eq!(queue.move_due().await.unwrap(), 0, "not due yet");
    assert_eq!(fixture.line(), [a]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_worker_gets_a_job_when_it_becomes_due() {
    let fixture = Fixture::new().await;
    let queue = fixture.queue.clone();
    let waiting = tokio::spawn(async move { queue.take(Duration::from_secs(60)).await });
    let id = fixture.due("x").await;
    let job = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(job.id, id);
    assert_eq!(fixture.queue.take(NO_WAIT).await.unwrap(), None);
}

#[tokio::test]
async fn ids_without_a_job_are_dropped() {
    let fixture = Fixture::new().await;
    for _ in 0..250 {
        fixture.command(&format!("LPUSH {PREFIX}:dueJobs gone"));
    }
    fixture.command(&format!("ZADD {PREFIX}:jobs 1 gone-too"));
    let id = fixture.due("x").await;
    assert_eq!(fixture.take().await.id, id);
    assert_eq!(fixture.unacked(), [id]);
    assert_eq!(fixture.field("gone", "pickupTime"), None);
}

#[tokio::test]
async fn a_job_can_be_acknowledged_on_a_full_server() {
    let fixture = Fixture::new().await;
    fixture.due("a").await;
    fixture.due("b").await;
    let (one, other) = (fixture.take().await, fixture.take().await);
    fixture.command("CONFIG SET maxmemory 1");
    // A short timeout, so that a full server is reported soon.
    let url = format!("{}?timeout=5s", fixture.redis.url());
    let queue = DelayedQueue::new(InteropServer::open(&url).await.unwrap(), PREFIX);
    let refused = queue.submit("c", PAST).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::StoreFull);
    assert_eq!(queue.renew(&one).await.unwrap(), AckStatus::Done);
    assert_eq!(queue.ack(&one).await.unwrap(), AckStatus::Done);
    let returned = queue.nack(&other, ReturnTo::Back).await.unwrap();
    assert_eq!(returned, AckStatus::Done);
}
