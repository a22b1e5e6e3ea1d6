//! The worker that beats by itself.

use std::time::Duration;

use tokio::time::timeout;
use windlass_interop::worqr::{BEAT, Ended, Event, Lifetime, Settings, WorkerOptions, WorkerState};
use windlass_testkit::redis::until;

use crate::place::{Place, next};

const PATIENCE: Duration = Duration::from_secs(60);

fn options(id: &str) -> WorkerOptions {
    WorkerOptions {
        id: Some(id.to_owned()),
        // A timer that outlasts a busy machine; the beat is that of the default.
        lifetime: Lifetime::Expiring(Duration::from_secs(600)),
        beat: BEAT,
        cleanup: None,
    }
}

fn left(place: &Place, timer: &str) -> i64 {
    place.command(&format!("TTL {timer}")).integer()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_sets_its_timer_again_and_again() {
    for (settings, timer) in [
        (Settings::default(), "worqr:workerTimers:w"),
        (Settings::document(""), "w"),
    ] {
        let place = Place::new(settings).await;
        let worker = place.worqr.join(options("w")).await.unwrap();
        for _ in 0..2 {
            place.command(&format!("EXPIRE {timer} 300"));
            until("it beats", || match left(&place, timer) {
                301.. => Ok(()),
                left => Err(format!("{left} s are left")),
            });
        }
        assert_eq!(worker.state(), WorkerState::Alive);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_beats_no_more_when_it_is_dropped() {
    let place = Place::released().await;
    let mut fast = options("w");
    fast.beat = Duration::from_millis(10);
    let worker = place.worqr.join(fast).await.unwrap();
    place.command("EXPIRE worqr:workerTimers:w 300");
    until("it beats", || match left(&place, "worqr:workerTimers:w") {
        301.. => Ok(()),
        left => Err(format!("{left} s are left")),
    });
    drop(worker);
    // A beat that was on its way may still arrive; after a while without one none ever will.
    let mut quiet = 0;
    until("it is quiet", || {
        quiet = if left(&place, "worqr:workerTimers:w") > 300 {
            0
        } else {
            quiet + 1
        };
        place.command("EXPIRE worqr:workerTimers:w 300");
        if quiet > 100 {
            Ok(())
        } else {
            Err(format!("quiet for {quiet} looks"))
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn it_tells_that_it_failed_and_can_restart() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    let mut worker = place.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    let process = worker.start_task("mail").await.unwrap().unwrap();
    let mut listener = place.worqr.listen(&["mail"]).await.unwrap();

    place.command("DEL worqr:workerTimers:w");
    timeout(PATIENCE, worker.failed()).await.unwrap();
    assert_eq!(worker.state(), WorkerState::Failed);
    let work = Event::Work {
        queue: "mail".to_owned(),
        count: 1,
    };
    assert_eq!(next(&mut listener).await, work);
    assert_eq!(place.waiting("mail").await, ["a"]);
    assert_eq!(place.worqr.workers().await.unwrap(), [""; 0]);
    let finished = worker.finish_task(&process.id).await.unwrap();
    assert_eq!(finished, Ended::Gone);

    worker.restart().await.unwrap();
    assert_eq!(worker.state(), WorkerState::Alive);
    assert_eq!(worker.id(), "w");
    let error = worker.start_task("mail").await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    worker.start_work("mail").await.unwrap();
    let process = worker.start_task("mail").await.unwrap().unwrap();
    let finished = worker.finish_task_with(&process.id, &1).await.unwrap();
    assert_eq!(finished, Ended::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_worker_gets_no_task() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    place.command("DEL worqr:workerTimers:w");
    let start = place.worqr.start_task("w", "mail").await.unwrap_err();
    let serve = place.worqr.start_work("w", "mail").await.unwrap_err();
    assert_eq!((start.code(), serve.code()), ("conflict", "conflict"));
    assert_eq!(place.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn joining_again_under_the_same_id_returns_what_was_in_progress() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    let worker = place.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    worker.start_task("mail").await.unwrap().unwrap();
    // The process ends without a word, and starts again before its timer ran out.
    drop(worker);
    let worker = place.worqr.join(options("w")).await.unwrap();
    assert_eq!(place.waiting("mail").await, ["a"]);
    assert_eq!(worker.leave().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_returns_its_tasks_at_once() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    let worker = place.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    worker.start_task("mail").await.unwrap().unwrap();
    assert_eq!(worker.leave().await.unwrap(), 1);
    place.has_keys(None, &["worqr:queues:mail list a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_waits_for_a_task_that_comes_later() {
    let place = Place::released().await;
    let worker = place.worqr.join(options("w")).await.unwrap();
    worker.start_work("mail").await.unwrap();
    let wait = worker.start_task_within("mail", PATIENCE);
    let (process, ()) = tokio::join!(wait, async {
        place.worqr.enqueue("mail", "a").await.unwrap();
    });
    assert_eq!(process.unwrap().unwrap().task, "a");
    let none = worker.start_task_within("mail", Duration::from_millis(20));
    assert_eq!(none.await.unwrap(), None);
}
