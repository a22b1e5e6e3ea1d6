//! The monitor: jobs of dead workers come back, and only those.

use std::time::Duration;

use windlass_core::{Due, Timestamp};
use windlass_interop::delayed_queue::{AckStatus, PREFIX, UNACKED_FOR};

use crate::fixture::{FUTURE, Fixture};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn jobs_of_dead_workers_return_to_the_front_in_order() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(fixture.due("x").await);
    }
    let mut original = fixture.original();
    // One killed after each of its commands, and one of Windlass.
    original.move_to_unacked("1").unwrap();
    original.take("1").unwrap();
    let ours = fixture.take().await;
    ids.push(fixture.due("x").await);

    // The first sees them, the second finds them unchanged.
    fixture.queue.rescue().await.unwrap();
    fixture.queue.rescue().await.unwrap();

    assert_eq!(fixture.line(), ids);
    assert!(fixture.unacked().is_empty());
    assert_eq!(fixture.queue.ack(&ours).await.unwrap(), AckStatus::Gone);
    assert!(!original.ack(&ids[0]));
}

#[tokio::test]
async fn more_jobs_than_a_page_return_in_order() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for number in 0..1_200 {
        let id = format!("id-{number}");
        fixture.command(&format!("HSET {PREFIX}:job:{id} payload x dueTime 1"));
        fixture.command(&format!("LPUSH {PREFIX}:unackedJobs {id}"));
        ids.push(id);
    }
    let report = fixture.queue.rescue_all().await.unwrap();
    assert_eq!((report.returned, report.unacked), (1_200, 0));
    assert_eq!(fixture.line(), ids);
}

#[tokio::test]
async fn a_job_is_left_to_a_worker_that_renews_it() {
    let fixture = Fixture::new().await;
    let id = fixture.due("x").await;
    let job = fixture.take().await;
    for _ in 0..3 {
        let report = fixture.queue.rescue().await.unwrap();
        assert_eq!((report.returned, report.unacked), (0, 1));
        let renewed = fixture.queue.renew(&job).await.unwrap();
        assert_eq!(renewed, AckStatus::Done);
    }
    assert_eq!(fixture.unacked(), [id]);
    assert_eq!(fixture.queue.ack(&job).await.unwrap(), AckStatus::Done);
    assert_eq!(fixture.queue.renew(&job).await.unwrap(), AckStatus::Gone);
}

#[tokio::test]
async fn the_clock_of_an_original_worker_does_not_matter() {
    let fixture = Fixture::new().await;
    let id = fixture.due("x").await;
    fixture.original().take("1").unwrap();
    let queue = fixture.queue.clone().with_unacked_for(HOUR);
    for picked in ["1", &FUTURE.to_string(), "not-a-time"] {
        fixture.command(&format!("HSET {PREFIX}:job:{id} pickupTime {picked}"));
        let report = queue.rescue().await.unwrap();
        assert_eq!((report.returned, report.unacked), (0, 1), "{picked}");
        assert!(report.wait > HOUR / 2 && report.wait <= HOUR);
    }
}

#[tokio::test]
async fn a_job_that_is_not_due_returns_to_the_backlog() {
    let fixture = Fixture::new().await;
    let at = Due::At(Timestamp::from_ms(FUTURE * 1000));
    let id = fixture.queue.submit("x", at).await.unwrap();
    // Held by a bridge that was killed.
    fixture.command(&format!("ZREM {PREFIX}:jobs {id}"));
    fixture.command(&format!("LPUSH {PREFIX}:unackedJobs {id}"));
    assert_eq!(fixture.queue.rescue_all().await.unwrap().returned, 1);
    assert_eq!(fixture.backlog(), [id.as_str()]);
    let score = fixture
        .command(&format!("ZSCORE {PREFIX}:jobs {id}"))
        .text();
    assert_eq!(score, FUTURE.to_string());
}

#[tokio::test]
async fn ids_without_a_job_are_removed_with_what_originals_left_of_them() {
    let fixture = Fixture::new().await;
    fixture.command(&format!("LPUSH {PREFIX}:dueJobs gone"));
    let job = fixture.original().take("1").unwrap();
    assert_eq!((job.payload, job.due_time), (None, None));
    assert_eq!(fixture.queue.rescue_all().await.unwrap().removed, 1);
    fixture.assert_empty("the original created a record");
}

#[tokio::test]
async fn marks_of_jobs_that_originals_finished_are_removed() {
    let fixture = Fixture::new().await;
    let queue = fixture.queue.clone().with_unacked_for(UNACKED_FOR);
    let mut original = fixture.original();
    for _ in 0..3 {
        fixture.due("x").await;
        let job = original.take("1").unwrap();
        queue.rescue().await.unwrap();
        assert!(original.ack(&job.id));
    }
    queue.rescue().await.unwrap();
    fixture.assert_empty("after the last ack");
}
