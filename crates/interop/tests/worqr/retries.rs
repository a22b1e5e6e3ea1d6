//! An answer that is lost, and two that do the same at once.

use std::time::Duration;

use tokio::task::JoinHandle;
use windlass_interop::Server as Peer;
use windlass_interop::worqr::{Ended, Settings, Worqr};
use windlass_testkit::redis::{Cut, Steps};

use crate::place::Place;

/// A peer whose next answer is lost, although the server did what it was asked.
async fn unlucky(place: &Place, steps: &Steps) -> Worqr {
    let url = format!("{}?timeout=60s", steps.url());
    let server = Peer::open(&url).await.unwrap();
    let worqr = Worqr::new(&server, Settings::default()).unwrap();
    // The server knows the scripts by now, so that the first command is the one that counts.
    place.worker("warm", "warm").await;
    place.worqr.start_task("warm", "warm").await.unwrap();
    place.worqr.delete_queue("warm").await.unwrap();
    place.worqr.fail_worker("warm").await.unwrap();
    steps.arm(Cut::After(0));
    worqr
}

/// What comes of a call whose connection is cut, and comes back each time it was.
async fn mended<T>(steps: &Steps, mut call: JoinHandle<T>) -> T {
    let mut cuts = 0;
    loop {
        tokio::select! {
            answer = &mut call => {
                assert!(cuts > 0, "no answer was lost");
                return answer.unwrap();
            }
            () = tokio::time::sleep(Duration::from_millis(2)) => {}
        }
        if steps.was_cut() {
            cuts += 1;
            steps.arm(Cut::Never);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_whose_answer_was_lost_is_not_started_twice() {
    let place = Place::released().await;
    let steps = Steps::before(&place.redis);
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("w", "mail").await;
    let worqr = unlucky(&place, &steps).await;
    let start = tokio::spawn(async move { worqr.start_task("w", "mail").await });
    let process = mended(&steps, start).await.unwrap().unwrap();
    assert_eq!(process.task, "a");
    assert_eq!(place.waiting("mail").await, ["b"]);
    assert_eq!(place.worqr.processes().await.unwrap(), [process]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_whose_answer_was_lost_tells_how_many_there_were_and_once() {
    let place = Place::released().await;
    let steps = Steps::before(&place.redis);
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    let worqr = unlucky(&place, &steps).await;
    let mut ear = place.ear();
    let delete = tokio::spawn(async move { worqr.delete_queue("mail").await });
    assert_eq!(mended(&steps, delete).await.unwrap(), 1);
    assert_eq!(ear.heard(), ["worqr_mail_delete "]);
    place.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_end_a_process_at_once_one_does() {
    let place = Place::released().await;
    place.worker("w", "mail").await;
    for _ in 0..50 {
        place.worqr.enqueue("mail", "a").await.unwrap();
        let id = place.start("w", "mail").await.id;
        // It reads the task, and before it can do more the process is gone.
        let finish = place.worqr.finish_task("w", &id);
        let stop = place.worqr.stop_task("w", &id);
        let (finished, stopped) = tokio::join!(finish, stop);
        let (finished, stopped) = (finished.unwrap(), stopped.unwrap());
        assert_ne!(finished, stopped);
        let left = place.worqr.count("mail").await.unwrap();
        assert_eq!(left, u64::from(stopped == Ended::Ended));
        place.worqr.delete_queue("mail").await.unwrap();
    }
}
