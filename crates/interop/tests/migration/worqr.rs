//! Worqr tasks have no ids: a bridge that is killed makes no second job of them.

use std::time::Duration;

use windlass_core::{ClaimRequest, JobLease};
use windlass_interop::bridge::BridgeSource;
use windlass_interop::worqr::WorqrSettings;
use windlass_testkit::redis::CutPoint;

use crate::fixture::{Fixture, payload};
use crate::kills::kill;

/// Tasks with the same bytes are separate tasks.
const TASKS: [&str; 5] = ["a", "b", "a", "c", "a"];

fn sources() -> [BridgeSource; 2] {
    [WorqrSettings::default(), WorqrSettings::document("")].map(|settings| BridgeSource::Worqr {
        queue: "old".to_owned(),
        settings,
    })
}

fn queue_key(source: &BridgeSource) -> &'static str {
    match source {
        BridgeSource::Worqr { settings, .. } if settings.prefix.is_empty() => "old",
        _ => "worqr:queues:old",
    }
}

fn enqueue(fixture: &Fixture, source: &BridgeSource) {
    fixture.command("FLUSHALL");
    let push = format!("LPUSH {} {}", queue_key(source), TASKS.join(" "));
    fixture.command(&push);
}

/// Ends the timers of killed workers, so that the next cleanup returns their tasks.
fn expire_workers(fixture: &Fixture) {
    for key in fixture.command("KEYS *").array() {
        let key = key.text();
        let kind = fixture.command(&format!("TYPE {key}")).text();
        if kind == "string" && fixture.command(&format!("GET {key}")).text() == "RUN" {
            fixture.command(&format!("DEL {key}"));
        }
    }
}

/// Runs a bridge until it is killed at this command. Returns whether it was.
async fn kill_at(fixture: &Fixture, source: &BridgeSource, cut: CutPoint) -> bool {
    let was_killed = kill(fixture, source, cut).await;
    expire_workers(fixture);
    was_killed
}

async fn payloads(fixture: &Fixture) -> Vec<String> {
    let mut payloads: Vec<String> = fixture.jobs().await.values().map(payload).collect();
    payloads.sort_unstable();
    payloads
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_from_worqr_killed_at_any_command_makes_no_second_job() {
    for source in sources() {
        let fixture = Fixture::new().await;
        let mut kills = 0;
        for cut in CutPoint::each() {
            enqueue(&fixture, &source);
            let was_killed = kill_at(&fixture, &source, cut).await;
            fixture.migrate(&source).await;
            assert_eq!(
                payloads(&fixture).await,
                ["a", "a", "a", "b", "c"],
                "{cut:?}"
            );
            let left = fixture.command(&format!("LLEN {}", queue_key(&source)));
            assert_eq!(left.integer(), 0, "{cut:?}");
            if !was_killed {
                break;
            }
            kills += 1;
        }
        assert!(kills > 4 * TASKS.len(), "killed {kills} times");
    }
}

/// Takes all tasks, and is killed after it enqueued them and before it finished any.
async fn enqueue_without_finishing(fixture: &Fixture, source: &BridgeSource) {
    enqueue(fixture, source);
    for cut in CutPoint::each() {
        enqueue(fixture, source);
        kill_at(fixture, source, cut).await;
        if payloads(fixture).await.len() == TASKS.len() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ended_before_its_task_is_migrated_again_does_not_run_again() {
    let [source, _] = sources();
    let fixture = Fixture::new().await;
    enqueue_without_finishing(&fixture, &source).await;
    let request = ClaimRequest::single(100);
    let claim = fixture
        .store
        .claim(&fixture.queue, request)
        .await
        .unwrap()
        .unwrap();
    for job in claim.jobs {
        let done = vec![JobLease::new(job.id, claim.token).completion()];
        fixture
            .store
            .complete(&fixture.queue, done, None)
            .await
            .unwrap();
    }

    let report = fixture.migrate(&source).await;

    assert_eq!((report.migrated, report.duplicates), (0, 5));
    assert_eq!(fixture.left().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_enqueued_after_others_ran_the_returned_ones_is_migrated() {
    let [source, _] = sources();
    let fixture = Fixture::new().await;
    enqueue_without_finishing(&fixture, &source).await;
    // The tasks return, and original workers take and finish them.
    let mut bridge = fixture.bridge_at(&fixture.redis.url(), &source).await;
    let worqr = fixture.worqr().await;
    worqr.cleanup_workers().await.unwrap();
    fixture.command(&format!("DEL {}", queue_key(&source)));
    assert!(!bridge.migrate_batch(Duration::ZERO).await.unwrap());

    worqr.enqueue("old", "a").await.unwrap();
    bridge.drain().await.unwrap();

    assert_eq!(bridge.report().migrated, 1);
}
