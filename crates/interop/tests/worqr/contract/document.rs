//! Queues, tasks and processes in the document's layout.

use windlass_interop::worqr::{Ended, Enqueued, Settings};

use crate::place::Place;

/// What a worker `W1` that serves `Q1` has, besides its processes.
const WORKER: [&str; 5] = [
    "W1 string \"RUN\" for an hour",
    "WorkMap_W1 set Q1",
    "Workers set W1",
    "windlass_queues set Q1",
    "windlass_workers set W1",
];

fn with_worker<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WORKER, more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn enqueue_pushes_and_tells_on_the_plain_channel() {
    let place = Place::document().await;
    let mut ear = place.ear();
    place.worqr.enqueue_many("Q1", ["T0", "T1"]).await.unwrap();
    let queues = "windlass_queues set Q1";
    place.has_keys(None, &["Q1 list T1,T0", queues]);
    assert_eq!(ear.heard(), ["Q1 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_task_has_a_lock_of_ours() {
    let place = Place::document().await;
    let first = place.worqr.enqueue_unique("Q1", "a").await.unwrap();
    let second = place.worqr.enqueue_unique("Q1", "a").await.unwrap();
    assert_eq!((first, second), (Enqueued::Added, Enqueued::Duplicate));
    let lock = "windlass_unique_0cc175b9c0f1b6a831c399e269772661 string \" \"";
    place.has_keys(None, &["Q1 list a", lock, "windlass_queues set Q1"]);
    assert_eq!(place.worqr.cancel_tasks("Q1", "a").await.unwrap(), 1);
    place.has_keys(None, &["windlass_queues set Q1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_moves_the_task_into_the_workers_own_set() {
    let place = Place::document().await;
    place.worqr.enqueue_many("Q1", ["T0", "T1"]).await.unwrap();
    place.worker("W1", "Q1").await;
    let mut ear = place.ear();
    let process = place.start("W1", "Q1").await;
    assert_eq!(process.task, "T0");
    let expected = with_worker(&[
        "Q1 list T1",
        "W1_Q1 set {process}",
        "windlass_processes_W1 zset {process}",
        "{process} list T0",
    ]);
    place.has_keys(Some(&process), &expected);
    assert_eq!(ear.heard(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_puts_the_task_back_at_the_tail_and_tells() {
    let place = Place::document().await;
    place.worqr.enqueue_many("Q1", ["T0", "T1"]).await.unwrap();
    place.worker("W1", "Q1").await;
    let process = place.start("W1", "Q1").await;
    let mut ear = place.ear();
    let stopped = place.worqr.stop_task("W1", &process.id).await.unwrap();
    assert_eq!(stopped, Ended::Ended);
    place.has_keys(None, &with_worker(&["Q1 list T1,T0"]));
    assert_eq!(ear.heard(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_removes_the_process_and_tells() {
    let place = Place::document().await;
    place.worqr.enqueue("Q1", "T0").await.unwrap();
    place.worker("W1", "Q1").await;
    let process = place.start("W1", "Q1").await;
    let mut ear = place.ear();
    let finished = place.worqr.finish_task("W1", &process.id).await.unwrap();
    assert_eq!(finished, Ended::Ended);
    place.has_keys(None, &WORKER);
    assert_eq!(ear.heard(), [r#"Q1_done {"workerId":"W1","task":"T0"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_another_client_named_is_finished_too() {
    let place = Place::document().await;
    place.worker("W1", "Q1").await;
    // What the document's startTask leaves.
    place.command("LPUSH P1 T0");
    place.command("SADD W1_Q1 P1");
    assert_eq!(place.worqr.matching_processes("T0").await.unwrap(), ["P1"]);
    let others = place.worqr.finish_task("W2", "P1").await.unwrap();
    assert_eq!(others, Ended::Gone);
    let finished = place.worqr.finish_task("W1", "P1").await.unwrap();
    assert_eq!(finished, Ended::Ended);
    assert_eq!(place.command("EXISTS P1 W1_Q1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_delete_tell_on_channels_of_the_queue() {
    let place = Place::document().await;
    let tasks = ["T0", "T1", "T0"];
    place.worqr.enqueue_many("Q1", tasks).await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.cancel_tasks("Q1", "T0").await.unwrap(), 2);
    assert_eq!(place.worqr.delete_queue("Q1").await.unwrap(), 1);
    place.has_keys(None, &[]);
    assert_eq!(ear.heard(), ["Q1_cancel T0", "Q1_delete "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_those_that_are_served_or_that_we_filled() {
    let place = Place::document().await;
    place.worqr.enqueue("Q1", "T0").await.unwrap();
    place.worker("W1", "Q2").await;
    place.command("LPUSH Q2 T0");
    place.worqr.start_work("W1", "Q3").await.unwrap();
    place.command("LPUSH nothing-of-ours 1");
    assert_eq!(place.worqr.queues().await.unwrap(), ["Q1", "Q2"]);
    assert_eq!(place.worqr.count("Q2").await.unwrap(), 1);
    assert_eq!(place.worqr.peek("Q2").await.unwrap().unwrap(), "T0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_stands_before_every_key_and_channel() {
    let place = Place::new(Settings::document("app:")).await;
    let mut ear = place.ear();
    place.worqr.enqueue("Q1", "T0").await.unwrap();
    place.worker("W1", "Q1").await;
    let process = place.start("W1", "Q1").await;
    place.worqr.stop_task("W1", &process.id).await.unwrap();
    let keys = place.keys();
    let is_ours = |key: &String| key.starts_with("app:");
    assert!(keys.iter().all(is_ours), "{keys:?}");
    assert_eq!(ear.heard(), ["app:Q1 1", "app:Q1_work 1", "app:Q1_work 1"]);
}
