//! The states of the Processor Job Queue.

use std::time::Duration;

use windlass_core::JobState;
use windlass_interop::bridge::BridgeSource;

use crate::fixture::{Fixture, payload, processor};

/// The unfinished jobs.
pub(crate) const IDS: [&str; 5] = ["queued-1", "queued-2", "urgent", "dispatched", "accepted"];

/// One job in each state, stored with the original's commands.
pub(crate) fn arrange(fixture: &Fixture) {
    for id in ["accepted", "dispatched", "queued-1", "queued-2"] {
        add_job(fixture, id, "");
    }
    add_job(fixture, "urgent", r#","priority":0"#);
    add_job(fixture, "finished", "");
    for (id, worker) in [("accepted", "w1"), ("dispatched", "w2"), ("finished", "w3")] {
        dispatch(fixture, id);
        fixture.command(&format!("SADD workers_busy:encode {worker}"));
        fixture.command(&format!("ZADD workers_last_seen:encode 5 {worker}"));
    }
    for id in ["accepted", "finished"] {
        accept(fixture, id);
    }
    // Forks of the original handle job_finished like this; the released one crashes on it.
    fixture.command("ZREM jobs_processing:encode finished");
    fixture.command("ZREM jobs_progress:encode finished");
    fixture.command("ZADD jobs_finished:encode 20 finished");
    // A job whose record was deleted, and one whose key belongs to something else.
    fixture.command("LPUSH jobs_queued:encode gone");
    fixture.command("SET taken-key value");
    fixture.command("LPUSH jobs_queued:encode taken-key");
}

fn json(id: &str, more: &str) -> String {
    format!(r#"{{"uuid":"{id}","queue_name":"encode"{more}}}"#)
}

/// Its `add_job`.
fn add_job(fixture: &Fixture, id: &str, more: &str) {
    fixture.command(&format!("HSET {id} json {}", json(id, more)));
    fixture.command(&format!("LPUSH jobs_queued:encode {id}"));
}

/// Its dispatch of this job.
fn dispatch(fixture: &Fixture, id: &str) {
    fixture.command(&format!("LREM jobs_queued:encode 0 {id}"));
    fixture.command(&format!("ZADD jobs_dispatched:encode 10.5 {id}"));
    fixture.command(&format!("HSET {id} dispatched_at 1970-01-01T00:00:10Z"));
}

/// Its `job_accepted`.
fn accept(fixture: &Fixture, id: &str) {
    fixture.command(&format!("ZREM jobs_dispatched:encode {id}"));
    fixture.command(&format!("ZADD jobs_processing:encode 11.5 {id}"));
    fixture.command(&format!("ZADD jobs_progress:encode 0 {id}"));
    fixture.command(&format!("HSET {id} worker_uuid w started_at 11.5"));
}

#[tokio::test]
async fn every_unfinished_job_is_migrated_under_its_uuid() {
    let fixture = Fixture::new().await;
    arrange(&fixture);

    let report = fixture.migrate(&processor()).await;

    assert_eq!((report.migrated, report.duplicates), (5, 0));
    let jobs = fixture.jobs().await;
    assert_eq!(jobs.len(), IDS.len());
    for id in IDS {
        let more = if id == "urgent" {
            r#","priority":0"#
        } else {
            ""
        };
        assert_eq!(payload(&jobs[id]), json(id, more));
        assert_eq!(jobs[id].state, JobState::Ready);
        assert_eq!(fixture.command(&format!("EXISTS {id}")).integer(), 0);
    }
    assert_eq!(jobs["urgent"].priority.level(), 0);
    assert_eq!(fixture.left().await, 0);
    assert_eq!(fixture.command("EXISTS jobs_progress:encode").integer(), 0);
}

#[tokio::test]
async fn jobs_of_silent_workers_come_first_in_their_order() {
    let fixture = Fixture::new().await;
    arrange(&fixture);
    fixture.migrate(&processor()).await;
    let mut order = Vec::new();
    let request = windlass_core::ClaimRequest::single(100);
    let claim = fixture.store.claim(&fixture.queue, request).await.unwrap();
    for job in claim.unwrap().jobs {
        order.push(job.id.to_string());
    }
    assert_eq!(
        order,
        ["urgent", "accepted", "dispatched", "queued-1", "queued-2"]
    );
}

#[tokio::test]
async fn finished_jobs_and_other_keys_stay() {
    let fixture = Fixture::new().await;
    arrange(&fixture);
    fixture.migrate(&processor()).await;
    let finished = fixture.command("ZSCORE jobs_finished:encode finished");
    assert_eq!(finished.text(), "20");
    let stored = fixture.command("HGET finished json").text();
    assert_eq!(stored, json("finished", ""));
    assert_eq!(fixture.command("GET taken-key").text(), "value");
}

#[tokio::test]
async fn jobs_of_living_workers_are_left_to_them() {
    let fixture = Fixture::new().await;
    arrange(&fixture);
    let now = fixture.command("TIME").array()[0].text();
    fixture.command(&format!("ZADD jobs_processing:encode {now} accepted"));
    let source = BridgeSource::Processor {
        queue: "encode".to_owned(),
        silence: Duration::from_secs(3600),
    };
    let report = fixture.migrate(&source).await;
    assert_eq!(report.migrated, 4, "all except the accepted one");
    assert_eq!(fixture.left().await, 1);
    assert_eq!(fixture.command("HEXISTS accepted json").integer(), 1);
}
