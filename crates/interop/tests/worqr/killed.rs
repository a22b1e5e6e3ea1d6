//! Two workers at one queue, and one of them is killed.

use std::time::Duration;

use windlass_interop::worqr::{Ended, Layout, Settings, WorkerOptions};
use windlass_testkit::redis::until;

use crate::place::{LONG, Place, peer};

#[tokio::test(flavor = "multi_thread")]
async fn exactly_its_tasks_come_back_to_the_front_once() {
    for settings in [Settings::default(), Settings::document("")] {
        let place = Place::new(settings.clone()).await;
        let timer = match settings.layout {
            Layout::Released => "worqr:workerTimers:killed",
            Layout::Document => "killed",
        };
        let tasks: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        place.worqr.enqueue_many("Q", tasks).await.unwrap();

        // A worker on connections of its own, with a timer that nobody sets again.
        let other = peer(&place.redis, settings).await;
        other.start_worker("killed", LONG).await.unwrap();
        other.start_work("killed", "Q").await.unwrap();
        place.worker("living", "Q").await;
        let mut living = Vec::new();
        for _ in 0..3 {
            other.start_task("killed", "Q").await.unwrap().unwrap();
            living.push(place.start("living", "Q").await);
        }
        drop(other);
        place.command(&format!("PEXPIRE {timer} 1"));
        until("the timer runs out", || {
            match place.command(&format!("EXISTS {timer}")).integer() {
                0 => Ok(()),
                _ => Err("it still runs".to_owned()),
            }
        });

        let mut ear = place.ear();
        let cleaned = place.worqr.cleanup_workers().await.unwrap();
        assert_eq!(cleaned.workers, ["killed"]);
        assert_eq!(cleaned.tasks, 3);
        let waiting = place.waiting("Q").await;
        assert_eq!(waiting, ["9", "8", "7", "6", "4", "2", "0"]);
        let heard = ear.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(heard[0].ends_with("Q_work 7"), "{heard:?}");

        let again = place.worqr.cleanup_workers().await.unwrap();
        assert_eq!(again.tasks, 0);
        assert_eq!(ear.heard(), [""; 0]);
        for process in living {
            let finished = place.worqr.finish_task("living", &process.id).await;
            assert_eq!(finished.unwrap(), Ended::Ended);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_that_lives_finds_the_dead_one_by_itself() {
    let place = Place::released().await;
    place.worqr.enqueue("Q", "a").await.unwrap();
    place.worker("killed", "Q").await;
    place.start("killed", "Q").await;
    place.command("DEL worqr:workerTimers:killed");
    let options = WorkerOptions {
        lifetime: LONG,
        cleanup: Some(Duration::from_millis(50)),
        ..WorkerOptions::default()
    };
    let worker = place.worqr.join(options).await.unwrap();
    worker.start_work("Q").await.unwrap();
    let wait = Duration::from_secs(60);
    let process = worker.start_task_within("Q", wait).await.unwrap();
    assert_eq!(process.unwrap().task, "a");
}
