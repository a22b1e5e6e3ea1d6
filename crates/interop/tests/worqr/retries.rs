//! Lost replies, and concurrent calls for the same process.

use std::time::Duration;

use tokio::task::JoinHandle;
use windlass_interop::InteropServer;
use windlass_interop::worqr::{ProcessEnd, Worqr, WorqrSettings};
use windlass_testkit::redis::{CutPoint, FaultProxy};

use crate::fixture::Fixture;

/// Returns a client whose next reply is lost after the server has run the command.
async fn with_lost_reply(fixture: &Fixture, steps: &FaultProxy) -> Worqr {
    let url = format!("{}?timeout=60s", steps.url());
    let server = InteropServer::open(&url).await.unwrap();
    let worqr = Worqr::new(&server, WorqrSettings::default()).unwrap();
    // Loads the scripts, so that the next call is one command.
    fixture.worker("warm", "warm").await;
    fixture.worqr.start_task("warm", "warm").await.unwrap();
    fixture.worqr.delete_queue("warm").await.unwrap();
    fixture.worqr.fail_worker("warm").await.unwrap();
    steps.arm(CutPoint::After(0));
    worqr
}

/// Waits for a call and restores the connection each time it was cut.
async fn with_reconnects<T>(steps: &FaultProxy, mut call: JoinHandle<T>) -> T {
    let mut cuts = 0;
    loop {
        tokio::select! {
            reply = &mut call => {
                assert!(cuts > 0, "no reply was lost");
                return reply.unwrap();
            }
            () = tokio::time::sleep(Duration::from_millis(2)) => {}
        }
        if steps.was_cut() {
            cuts += 1;
            steps.arm(CutPoint::Never);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_whose_start_reply_was_lost_is_not_started_twice() {
    let fixture = Fixture::released().await;
    let steps = FaultProxy::before(&fixture.redis);
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("w", "mail").await;
    let worqr = with_lost_reply(&fixture, &steps).await;
    let start = tokio::spawn(async move { worqr.start_task("w", "mail").await });
    let process = with_reconnects(&steps, start).await.unwrap().unwrap();
    assert_eq!(process.task, "a");
    assert_eq!(fixture.waiting("mail").await, ["b"]);
    assert_eq!(fixture.worqr.processes().await.unwrap(), [process]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_whose_reply_was_lost_returns_the_count_and_publishes_once() {
    let fixture = Fixture::released().await;
    let steps = FaultProxy::before(&fixture.redis);
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    let worqr = with_lost_reply(&fixture, &steps).await;
    let mut subscriber = fixture.subscriber();
    let delete = tokio::spawn(async move { worqr.delete_queue("mail").await });
    assert_eq!(with_reconnects(&steps, delete).await.unwrap(), 1);
    assert_eq!(subscriber.messages(), ["worqr_mail_delete "]);
    fixture.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_calls_ends_a_process() {
    let fixture = Fixture::released().await;
    fixture.worker("w", "mail").await;
    for _ in 0..50 {
        fixture.worqr.enqueue("mail", "a").await.unwrap();
        let id = fixture.start("w", "mail").await.id;
        // `finish` reads the task first; the process may be gone before its script runs.
        let finish = fixture.worqr.finish_task("w", &id);
        let stop = fixture.worqr.stop_task("w", &id);
        let (finished, stopped) = tokio::join!(finish, stop);
        let (finished, stopped) = (finished.unwrap(), stopped.unwrap());
        assert_ne!(finished, stopped);
        let left = fixture.worqr.count("mail").await.unwrap();
        assert_eq!(left, u64::from(stopped == ProcessEnd::Ended));
        fixture.worqr.delete_queue("mail").await.unwrap();
    }
}
