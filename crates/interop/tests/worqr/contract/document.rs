//! Queues, tasks and processes in the document layout.

use windlass_interop::worqr::{ProcessEnd, UniqueEnqueued, WorqrSettings};

use crate::fixture::Fixture;

/// The keys of a worker `W1` that serves `Q1`, without processes.
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
async fn enqueue_pushes_and_publishes_on_the_plain_channel() {
    let fixture = Fixture::document().await;
    let mut subscriber = fixture.subscriber();
    fixture
        .worqr
        .enqueue_many("Q1", ["T0", "T1"])
        .await
        .unwrap();
    let queues = "windlass_queues set Q1";
    fixture.has_keys(None, &["Q1 list T1,T0", queues]);
    assert_eq!(subscriber.messages(), ["Q1 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_task_has_a_lock_added_by_windlass() {
    let fixture = Fixture::document().await;
    let first = fixture.worqr.enqueue_unique("Q1", "a").await.unwrap();
    let second = fixture.worqr.enqueue_unique("Q1", "a").await.unwrap();
    assert_eq!(
        (first, second),
        (UniqueEnqueued::Added, UniqueEnqueued::Duplicate)
    );
    let lock = "windlass_unique_0cc175b9c0f1b6a831c399e269772661 string \" \"";
    fixture.has_keys(None, &["Q1 list a", lock, "windlass_queues set Q1"]);
    assert_eq!(fixture.worqr.cancel_tasks("Q1", "a").await.unwrap(), 1);
    fixture.has_keys(None, &["windlass_queues set Q1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_moves_the_task_into_the_workers_own_set() {
    let fixture = Fixture::document().await;
    fixture
        .worqr
        .enqueue_many("Q1", ["T0", "T1"])
        .await
        .unwrap();
    fixture.worker("W1", "Q1").await;
    let mut subscriber = fixture.subscriber();
    let process = fixture.start("W1", "Q1").await;
    assert_eq!(process.task, "T0");
    let expected = with_worker(&[
        "Q1 list T1",
        "W1_Q1 set {process}",
        "windlass_processes_W1 zset {process}",
        "{process} list T0",
    ]);
    fixture.has_keys(Some(&process), &expected);
    assert_eq!(subscriber.messages(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_returns_the_task_to_the_tail_and_publishes() {
    let fixture = Fixture::document().await;
    fixture
        .worqr
        .enqueue_many("Q1", ["T0", "T1"])
        .await
        .unwrap();
    fixture.worker("W1", "Q1").await;
    let process = fixture.start("W1", "Q1").await;
    let mut subscriber = fixture.subscriber();
    let stopped = fixture.worqr.stop_task("W1", &process.id).await.unwrap();
    assert_eq!(stopped, ProcessEnd::Ended);
    fixture.has_keys(None, &with_worker(&["Q1 list T1,T0"]));
    assert_eq!(subscriber.messages(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_removes_the_process_and_publishes() {
    let fixture = Fixture::document().await;
    fixture.worqr.enqueue("Q1", "T0").await.unwrap();
    fixture.worker("W1", "Q1").await;
    let process = fixture.start("W1", "Q1").await;
    let mut subscriber = fixture.subscriber();
    let finished = fixture.worqr.finish_task("W1", &process.id).await.unwrap();
    assert_eq!(finished, ProcessEnd::Ended);
    fixture.has_keys(None, &WORKER);
    assert_eq!(
        subscriber.messages(),
        [r#"Q1_done {"workerId":"W1","task":"T0"}"#]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_another_client_named_is_finished_too() {
    let fixture = Fixture::document().await;
    fixture.worker("W1", "Q1").await;
    // The state after startTask of the document.
    fixture.command("LPUSH P1 T0");
    fixture.command("SADD W1_Q1 P1");
    assert_eq!(
        fixture.worqr.matching_processes("T0").await.unwrap(),
        ["P1"]
    );
    let others = fixture.worqr.finish_task("W2", "P1").await.unwrap();
    assert_eq!(others, ProcessEnd::Gone);
    let finished = fixture.worqr.finish_task("W1", "P1").await.unwrap();
    assert_eq!(finished, ProcessEnd::Ended);
    assert_eq!(fixture.command("EXISTS P1 W1_Q1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_delete_publish_on_channels_of_the_queue() {
    let fixture = Fixture::document().await;
    let tasks = ["T0", "T1", "T0"];
    fixture.worqr.enqueue_many("Q1", tasks).await.unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.cancel_tasks("Q1", "T0").await.unwrap(), 2);
    assert_eq!(fixture.worqr.delete_queue("Q1").await.unwrap(), 1);
    fixture.has_keys(None, &[]);
    assert_eq!(subscriber.messages(), ["Q1_cancel T0", "Q1_delete "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_those_that_are_served_or_filled_by_windlass() {
    let fixture = Fixture::document().await;
    fixture.worqr.enqueue("Q1", "T0").await.unwrap();
    fixture.worker("W1", "Q2").await;
    fixture.command("LPUSH Q2 T0");
    fixture.worqr.start_work("W1", "Q3").await.unwrap();
    fixture.command("LPUSH not-a-queue 1");
    assert_eq!(fixture.worqr.queues().await.unwrap(), ["Q1", "Q2"]);
    assert_eq!(fixture.worqr.count("Q2").await.unwrap(), 1);
    assert_eq!(fixture.worqr.peek("Q2").await.unwrap().unwrap(), "T0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_is_prepended_to_every_key_and_channel() {
    let fixture = Fixture::new(WorqrSettings::document("app:")).await;
    let mut subscriber = fixture.subscriber();
    fixture.worqr.enqueue("Q1", "T0").await.unwrap();
    fixture.worker("W1", "Q1").await;
    let process = fixture.start("W1", "Q1").await;
    fixture.worqr.stop_task("W1", &process.id).await.unwrap();
    let keys = fixture.keys();
    let is_ours = |key: &String| key.starts_with("app:");
    assert!(keys.iter().all(is_ours), "{keys:?}");
    assert_eq!(
        subscriber.messages(),
        ["app:Q1 1", "app:Q1_work 1", "app:Q1_work 1"]
    );
}
