//! The worker that sends heartbeats in the background.

use std::time::Duration;

use tokio::time::timeout;
use windlass_interop::worqr::{
    HEARTBEAT, Lifetime, ProcessEnd, WorkerOptions, WorkerState, WorqrEvent, WorqrSettings,
};
use windlass_testkit::redis::until;

use crate::fixture::{Fixture, next};

const TIMEOUT: Duration = Duration::from_secs(60);

fn options(id: &str) -> WorkerOptions {
    WorkerOptions {
        id: Some(id.to_owned()),
        // Long enough for any busy machine; the heartbeat is the default.
        lifetime: Lifetime::Expiring(Duration::from_secs(600)),
        heartbeat: HEARTBEAT,
        cleanup: None,
    }
}

fn left(fixture: &Fixture, timer: &str) -> i64 {
    fixture.command(&format!("TTL {timer}")).integer()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_resets_its_timer_repeatedly() {
    for (settings, timer) in [
        (WorqrSettings::default(), "worqr:workerTimers:w"),
        (WorqrSettings::document(""), "w"),
    ] {
        let fixture = Fixture::new(settings).await;
        let worker = fixture.worqr.join(options("w")).await.unwrap();
        for _ in 0..2 {
            fixture.command(&format!("EXPIRE {timer} 300"));
            until("it sends a heartbeat", || match left(&fixture, timer) {
                301.. => Ok(()),
                left => Err(format!("{left} s are left")),
            });
        }
        assert_eq!(worker.state(), WorkerState::Alive);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_sends_no_heartbeats_after_it_is_dropped() {
    let fixture = Fixture::released().await;
    let mut fast = options("w");
    fast.heartbeat = Duration::from_millis(10);
    let worker = fixture.worqr.join(fast).await.unwrap();
    fixture.command("EXPIRE worqr:workerTimers:w 300");
    until("it sends a heartbeat", || {
        match left(&fixture, "worqr:workerTimers:w") {
            301.. => Ok(()),
            left => Err(format!("{left} s are left")),
        }
    });
    drop(worker);
    // A heartbeat in flight may still arrive; after a while without one none will.
    let mut checks = 0;
    until("heartbeats have stopped", || {
        checks = if left(&fixture, "worqr:workerTimers:w") > 300 {
            0
        } else {
            checks + 1
        };
        fixture.command("EXPIRE worqr:workerTimers:w 300");
        if checks > 100 {
            Ok(())
        } else {
            Err(format!("no heartbeat in {checks} checks"))
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn it_reports_that_it_failed_and_can_restart() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    let mut worker = fixture.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    let process = worker.start_task("mail").await.unwrap().unwrap();
    let mut listener = fixture.worqr.listen(&["mail"]).await.unwrap();

    fixture.command("DEL worqr:workerTimers:w");
    timeout(TIMEOUT, worker.failed()).await.unwrap();
    assert_eq!(worker.state(), WorkerState::Failed);
    let work = WorqrEvent::Work {
        queue: "mail".to_owned(),
        count: 1,
    };
    assert_eq!(next(&mut listener).await, work);
    assert_eq!(fixture.waiting("mail").await, ["a"]);
    assert_eq!(fixture.worqr.workers().await.unwrap(), [""; 0]);
    let finished = worker.finish_task(&process.id).await.unwrap();
    assert_eq!(finished, ProcessEnd::Gone);

    worker.restart().await.unwrap();
    assert_eq!(worker.state(), WorkerState::Alive);
    assert_eq!(worker.id(), "w");
    let error = worker.start_task("mail").await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    worker.start_work("mail").await.unwrap();
    let process = worker.start_task("mail").await.unwrap().unwrap();
    let finished = worker.finish_task_with(&process.id, &1).await.unwrap();
    assert_eq!(finished, ProcessEnd::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_worker_gets_no_task() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    fixture.command("DEL worqr:workerTimers:w");
    let start = fixture.worqr.start_task("w", "mail").await.unwrap_err();
    let serve = fixture.worqr.start_work("w", "mail").await.unwrap_err();
    assert_eq!((start.code(), serve.code()), ("conflict", "conflict"));
    assert_eq!(fixture.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn joining_again_under_the_same_id_returns_what_was_in_progress() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    let worker = fixture.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    worker.start_task("mail").await.unwrap().unwrap();
    // The process ends without leaving, and starts again before its timer ran out.
    drop(worker);
    let worker = fixture.worqr.join(options("w")).await.unwrap();
    assert_eq!(fixture.waiting("mail").await, ["a"]);
    assert_eq!(worker.leave().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_returns_its_tasks_at_once() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    let worker = fixture.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    worker.start_task("mail").await.unwrap().unwrap();
    assert_eq!(worker.leave().await.unwrap(), 1);
    fixture.has_keys(None, &["worqr:queues:mail list a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_task_that_comes_later() {
    let fixture = Fixture::released().await;
    let worker = fixture.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    let wait = worker.start_task_within("mail", TIMEOUT);
    let (process, ()) = tokio::join!(wait, async {
        fixture.worqr.enqueue("mail", "a").await.unwrap();
    });
    assert_eq!(process.unwrap().unwrap().task, "a");
    let none = worker.start_task_within("mail", Duration::from_millis(20));
    assert_eq!(none.await.unwrap(), None);
}
