//! The original's commands and ours on the same keys.

use std::collections::BTreeMap;

use windlass_interop::worqr::{Done, Ended, Event, Failed};

use crate::place::{Place, next};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_original_enqueues_is_started_and_finished_by_ours() {
    let place = Place::released().await;
    place.worker("ours", "mail").await;
    let mut listener = place.worqr.listen(&["mail"]).await.unwrap();
    let mut original = place.original("o");
    original.enqueue("mail", &["x", "y"]);
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    for count in [2, 1] {
        let queue = "mail".to_owned();
        assert_eq!(next(&mut listener).await, Event::Work { queue, count });
    }
    for task in ["x", "y", "a"] {
        let process = place.start("ours", "mail").await;
        assert_eq!(process.task, task);
        let finished = place.worqr.finish_task("ours", &process.id).await;
        assert_eq!(finished.unwrap(), Ended::Ended);
    }
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    original.cancel("mail", "a");
    assert_eq!(place.worqr.count("mail").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ours_enqueues_is_started_and_finished_by_the_original() {
    let place = Place::released().await;
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    let mut listener = place.worqr.listen(&["mail"]).await.unwrap();
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    let (process, task) = original.dequeue("mail").unwrap();
    assert_eq!(task, "a");
    assert_eq!(original.dequeue("mail"), None);
    original.finish("mail", &process, MD5_OF_A);
    let mut told = None;
    while told.is_none() {
        if let Event::Done { message, .. } = next(&mut listener).await {
            told = Done::parse(&message);
        }
    }
    let told = told.unwrap();
    assert_eq!(
        (told.worker_id.as_str(), told.task.as_deref()),
        ("o", Some("a"))
    );
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(place.worqr.count("mail").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn either_may_end_what_the_other_started() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("ours", "mail").await;
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    let ours = place.start("ours", "mail").await;
    let (theirs, _) = original.dequeue("mail").unwrap();
    let done = original.finish("mail", &ours.id, MD5_OF_A);
    assert_eq!(done.unwrap(), "a");
    let stopped = place.worqr.stop_task("ours", &theirs).await.unwrap();
    assert_eq!(stopped, Ended::Ended);
    assert_eq!(place.waiting("mail").await, ["b"]);
    // What was ended does not come back with the worker that started it.
    assert_eq!(
        place.worqr.fail_worker("ours").await.unwrap(),
        Failed::Ended(0)
    );
    assert_eq!(place.waiting("mail").await, ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_and_ours_drain_two_thousand_tasks_each_once() {
    const EACH: usize = 1000;
    let place = Place::released().await;
    place.worker("ours", "mail").await;
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    for number in 0..EACH {
        original.enqueue("mail", &[&format!("theirs {number}")]);
    }
    let ours = (0..EACH).map(|number| format!("ours {number}"));
    place.worqr.enqueue_many("mail", ours).await.unwrap();

    let theirs = tokio::task::spawn_blocking(move || {
        let mut done = Vec::new();
        while let Some((process, task)) = original.dequeue("mail") {
            // Its lock is nobody's: no task here is unique.
            assert_eq!(
                original.finish("mail", &process, "none"),
                Some(task.clone())
            );
            done.push(task);
        }
        done
    });
    let mut done = Vec::new();
    while let Some(process) = place.worqr.start_task("ours", "mail").await.unwrap() {
        let finished = place.worqr.finish_task("ours", &process.id).await;
        assert_eq!(finished.unwrap(), Ended::Ended);
        done.push(String::from_utf8(process.task.to_vec()).unwrap());
    }
    done.extend(theirs.await.unwrap());

    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for task in &done {
        *times.entry(task).or_default() += 1;
    }
    assert_eq!(times.len(), 2 * EACH);
    assert!(times.values().all(|times| *times == 1));
    assert_eq!(place.worqr.processes().await.unwrap(), []);
    let left = place.command("EXISTS worqr:workingProcesses:mail worqr:queues:mail");
    assert_eq!(left.integer(), 0);
}
