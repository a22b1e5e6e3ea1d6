//! The original's commands and Windlass on the same keys.

use std::collections::BTreeMap;

use windlass_interop::worqr::{DoneMessage, ProcessEnd, WorkerFailure, WorqrEvent};

use crate::fixture::{Fixture, next};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_the_original_are_started_and_finished_by_windlass() {
    let fixture = Fixture::released().await;
    fixture.worker("ours", "mail").await;
    let mut listener = fixture.worqr.listen(&["mail"]).await.unwrap();
    let mut original = fixture.original("o");
    original.enqueue("mail", &["x", "y"]);
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    for count in [2, 1] {
        let queue = "mail".to_owned();
        assert_eq!(next(&mut listener).await, WorqrEvent::Work { queue, count });
    }
    for task in ["x", "y", "a"] {
        let process = fixture.start("ours", "mail").await;
        assert_eq!(process.task, task);
        let finished = fixture.worqr.finish_task("ours", &process.id).await;
        assert_eq!(finished.unwrap(), ProcessEnd::Ended);
    }
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    original.cancel("mail", "a");
    assert_eq!(fixture.worqr.count("mail").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_windlass_are_started_and_finished_by_the_original() {
    let fixture = Fixture::released().await;
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    let mut listener = fixture.worqr.listen(&["mail"]).await.unwrap();
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    let (process, task) = original.dequeue("mail").unwrap();
    assert_eq!(task, "a");
    assert_eq!(original.dequeue("mail"), None);
    original.finish("mail", &process, MD5_OF_A);
    let mut done = None;
    while done.is_none() {
        if let WorqrEvent::Done { message, .. } = next(&mut listener).await {
            done = DoneMessage::parse(&message);
        }
    }
    let done = done.unwrap();
    assert_eq!(
        (done.worker_id.as_str(), done.task.as_deref()),
        ("o", Some("a"))
    );
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(fixture.worqr.count("mail").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn either_may_end_what_the_other_started() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("ours", "mail").await;
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    let ours = fixture.start("ours", "mail").await;
    let (theirs, _) = original.dequeue("mail").unwrap();
    let done = original.finish("mail", &ours.id, MD5_OF_A);
    assert_eq!(done.unwrap(), "a");
    let stopped = fixture.worqr.stop_task("ours", &theirs).await.unwrap();
    assert_eq!(stopped, ProcessEnd::Ended);
    assert_eq!(fixture.waiting("mail").await, ["b"]);
    // A finished task does not return when the worker that started it fails.
    assert_eq!(
        fixture.worqr.fail_worker("ours").await.unwrap(),
        WorkerFailure::Ended(0)
    );
    assert_eq!(fixture.waiting("mail").await, ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_and_windlass_run_two_thousand_tasks_once_each() {
    const EACH: usize = 1000;
    let fixture = Fixture::released().await;
    fixture.worker("ours", "mail").await;
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    for number in 0..EACH {
        original.enqueue("mail", &[&format!("theirs {number}")]);
    }
    let ours = (0..EACH).map(|number| format!("ours {number}"));
    fixture.worqr.enqueue_many("mail", ours).await.unwrap();

    let theirs = tokio::task::spawn_blocking(move || {
        let mut done = Vec::new();
        while let Some((process, task)) = original.dequeue("mail") {
            // No lock: the tasks are not unique.
            assert_eq!(
                original.finish("mail", &process, "none"),
                Some(task.clone())
            );
            done.push(task);
        }
        done
    });
    let mut done = Vec::new();
    while let Some(process) = fixture.worqr.start_task("ours", "mail").await.unwrap() {
        let finished = fixture.worqr.finish_task("ours", &process.id).await;
        assert_eq!(finished.unwrap(), ProcessEnd::Ended);
        done.push(String::from_utf8(process.task.to_vec()).unwrap());
    }
    done.extend(theirs.await.unwrap());

    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    for task in &done {
        *times.entry(task).or_default() += 1;
    }
    assert_eq!(times.len(), 2 * EACH);
    assert!(times.values().all(|times| *times == 1));
    assert_eq!(fixture.worqr.processes().await.unwrap(), []);
    let left = fixture.command("EXISTS worqr:workingProcesses:mail worqr:queues:mail");
    assert_eq!(left.integer(), 0);
}
