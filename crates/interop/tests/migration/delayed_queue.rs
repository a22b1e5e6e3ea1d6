//! The states of the Delayed Queue App.

use windlass_core::{JobState, Timestamp};

use crate::fixture::{Fixture, delayed_queue, payload};

/// All jobs.
pub(crate) const IDS: [&str; 6] = [
    "delayed",
    "due",
    "half-due",
    "taken",
    "half-taken",
    "no-time",
];

/// Later than any test runs, in seconds.
const FUTURE: u64 = 4_000_000_000;

/// One job in each state, stored with the original's commands.
pub(crate) fn arrange(fixture: &Fixture) {
    for id in IDS {
        let due_time = match id {
            "delayed" => FUTURE.to_string(),
            "no-time" => "undefined".to_owned(),
            _ => "1".to_owned(),
        };
        let key = format!("delayed-queue:job:{id}");
        fixture.command(&format!("HSET {key} payload {id}! dueTime {due_time}"));
    }
    fixture.command(&format!("ZADD delayed-queue:jobs {FUTURE} delayed"));
    // Its leader has not moved this one yet.
    fixture.command("ZADD delayed-queue:jobs 1 half-due");
    fixture.command("LPUSH delayed-queue:dueJobs due no-time");
    // Workers that were killed: before and after they recorded the time.
    fixture.command("LPUSH delayed-queue:unackedJobs half-taken taken");
    fixture.command("HSET delayed-queue:job:taken pickupTime 2");
    // An id whose job is gone.
    fixture.command("LPUSH delayed-queue:dueJobs gone");
}

#[tokio::test]
async fn every_job_is_migrated_under_its_id() {
    let fixture = Fixture::new().await;
    arrange(&fixture);

    let report = fixture.migrate(&delayed_queue()).await;

    assert_eq!((report.migrated, report.duplicates), (6, 0));
    let jobs = fixture.jobs().await;
    assert_eq!(jobs.len(), IDS.len());
    for id in IDS {
        assert_eq!(payload(&jobs[id]), format!("{id}!"));
        let state = match id {
            "delayed" => JobState::Scheduled,
            _ => JobState::Ready,
        };
        assert_eq!(jobs[id].state, state, "{id}");
    }
    assert_eq!(jobs["delayed"].due_at, Timestamp::from_ms(FUTURE * 1000));
    let keys = fixture.command("KEYS delayed-queue:*");
    assert!(keys.array().is_empty(), "{keys:?}");
}

#[tokio::test]
async fn a_job_that_the_queue_rejects_returns_to_where_it_was() {
    let fixture = Fixture::new().await;
    // Milliseconds instead of seconds: more than 100 years from now.
    let far = "1700000000000";
    fixture.command(&format!(
        "HSET delayed-queue:job:far payload x dueTime {far}"
    ));
    fixture.command(&format!("ZADD delayed-queue:jobs {far} far"));
    let report = fixture.migrate(&delayed_queue()).await;
    assert_eq!(report.rejected.len(), 1);
    let score = fixture.command("ZSCORE delayed-queue:jobs far").text();
    assert_eq!(score, far);
    let unacked = fixture.command("LLEN delayed-queue:unackedJobs");
    assert_eq!(unacked.integer(), 0);
    let job = fixture.command("HGETALL delayed-queue:job:far");
    assert!(!job.array().iter().any(|field| field.text() == "ticket"));
}
