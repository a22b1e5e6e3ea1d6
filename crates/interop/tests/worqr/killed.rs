//! Two workers on one queue, one of which is killed.

use std::time::Duration;

use windlass_interop::worqr::{ProcessEnd, WorkerOptions, WorqrLayout, WorqrSettings};
use windlass_testkit::redis::until;

use crate::fixture::{Fixture, LONG, connect};

#[tokio::test(flavor = "multi_thread")]
async fn exactly_its_tasks_return_to_the_front_once() {
    for settings in [WorqrSettings::default(), WorqrSettings::document("")] {
        let fixture = Fixture::new(settings.clone()).await;
        let timer = match settings.layout {
            WorqrLayout::Released => "worqr:workerTimers:killed",
            WorqrLayout::Document => "killed",
        };
        let tasks: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        fixture.worqr.enqueue_many("Q", tasks).await.unwrap();

        // A worker on separate connections, whose timer is never reset.
        let other = connect(&fixture.redis, settings).await;
        other.start_worker("killed", LONG).await.unwrap();
        other.start_work("killed", "Q").await.unwrap();
        fixture.worker("living", "Q").await;
        let mut living = Vec::new();
        for _ in 0..3 {
            other.start_task("killed", "Q").await.unwrap().unwrap();
            living.push(fixture.start("living", "Q").await);
        }
        drop(other);
        fixture.command(&format!("PEXPIRE {timer} 1"));
        until("the timer runs out", || {
            match fixture.command(&format!("EXISTS {timer}")).integer() {
                0 => Ok(()),
                _ => Err("it still runs".to_owned()),
            }
        });

        let mut subscriber = fixture.subscriber();
        let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
        assert_eq!(cleaned.workers, ["killed"]);
        assert_eq!(cleaned.tasks, 3);
        let waiting = fixture.waiting("Q").await;
        assert_eq!(waiting, ["9", "8", "7", "6", "4", "2", "0"]);
        let messages = subscriber.messages();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].ends_with("Q_work 7"), "{messages:?}");

        let again = fixture.worqr.cleanup_workers().await.unwrap();
        assert_eq!(again.tasks, 0);
        assert_eq!(subscriber.messages(), [""; 0]);
        for process in living {
            let finished = fixture.worqr.finish_task("living", &process.id).await;
            assert_eq!(finished.unwrap(), ProcessEnd::Ended);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_that_lives_finds_the_dead_one_by_itself() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("Q", "a").await.unwrap();
    fixture.worker("killed", "Q").await;
    fixture.start("killed", "Q").await;
    fixture.command("DEL worqr:workerTimers:killed");
    let options = WorkerOptions {
        lifetime: LONG,
        cleanup: Some(Duration::from_millis(50)),
        ..WorkerOptions::default()
    };
    let worker = fixture.worqr.join(options).await.unwrap();
    worker.start_work("Q").await.unwrap();
    let wait = Duration::from_secs(60);
    let process = worker.start_task_within("Q", wait).await.unwrap();
    assert_eq!(process.unwrap().task, "a");
}
