//! Workers in the document layout.

use std::time::Duration;

use windlass_interop::worqr::{Lifetime, WorkerFailure, WorqrSettings};

use crate::fixture::{Fixture, LONG, connect};

#[tokio::test(flavor = "multi_thread")]
async fn start_worker_registers_it_and_sets_its_plain_key_to_run() {
    let fixture = Fixture::document().await;
    fixture.worqr.start_worker("W1", LONG).await.unwrap();
    fixture.has_keys(
        None,
        &[
            "W1 string \"RUN\" for an hour",
            "Workers set W1",
            "windlass_workers set W1",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keeping_alive_sets_the_key_only_if_it_exists() {
    let fixture = Fixture::document().await;
    let hour = Duration::from_secs(3600);
    fixture.worqr.start_worker("W1", LONG).await.unwrap();
    fixture.command("EXPIRE W1 1000");
    assert!(fixture.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert!(fixture.command("TTL W1").integer() > 3000);
    fixture.command("DEL W1");
    assert!(!fixture.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert_eq!(fixture.command("EXISTS W1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_maps_the_worker_to_its_queues() {
    let fixture = Fixture::document().await;
    fixture.worqr.enqueue("Q1", "T0").await.unwrap();
    fixture.worqr.start_worker("W1", LONG).await.unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.start_work("W1", "Q1").await.unwrap(), 1);
    assert_eq!(fixture.worqr.request_work("Q1").await.unwrap(), 1);
    assert!(fixture.keys().contains(&"WorkMap_W1 set Q1".to_owned()));
    assert_eq!(subscriber.messages(), ["Q1_work 1", "Q1_work 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_returns_the_tasks_and_publishes() {
    let fixture = Fixture::document().await;
    fixture
        .worqr
        .enqueue_many("Q1", ["T0", "T1"])
        .await
        .unwrap();
    fixture.worker("W1", "Q1").await;
    fixture.start("W1", "Q1").await;
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.stop_work("W1", "Q1").await.unwrap(), 1);
    fixture.has_keys(
        None,
        &[
            "Q1 list T1,T0",
            "W1 string \"RUN\" for an hour",
            "Workers set W1",
            "windlass_queues set Q1",
            "windlass_workers set W1",
        ],
    );
    assert_eq!(subscriber.messages(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_returns_the_tasks_of_this_worker_alone() {
    let fixture = Fixture::document().await;
    let tasks = ["T0", "T1", "T2"];
    fixture.worqr.enqueue_many("Q1", tasks).await.unwrap();
    fixture.worker("W1", "Q1").await;
    fixture.worker("W2", "Q1").await;
    fixture.start("W1", "Q1").await;
    let other = fixture.start("W2", "Q1").await;
    let mut subscriber = fixture.subscriber();
    assert_eq!(
        fixture.worqr.fail_worker("W1").await.unwrap(),
        WorkerFailure::Ended(1)
    );
    fixture.has_keys(
        Some(&other),
        &[
            "Q1 list T2,T0",
            "W2 string \"RUN\" for an hour",
            "W2_Q1 set {process}",
            "WorkMap_W2 set Q1",
            "Workers set W2",
            "windlass_processes_W2 zset {process}",
            "windlass_queues set Q1",
            "windlass_workers set W2",
            "{process} list T1",
        ],
    );
    assert_eq!(subscriber.messages(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_returns_the_tasks_of_a_dead_worker_of_another_client() {
    let fixture = Fixture::document().await;
    // The state after startWorker, startWork and startTask of the document, when the timer has run out.
    fixture.command("SADD Workers W1");
    fixture.command("SADD WorkMap_W1 Q1");
    fixture.command("SADD W1_Q1 P1");
    fixture.command("LPUSH P1 T0");
    fixture.command("LPUSH Q1 T1");
    let mut subscriber = fixture.subscriber();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!((cleaned.workers, cleaned.tasks), (vec!["W1".to_owned()], 1));
    fixture.has_keys(None, &["Q1 list T1,T0"]);
    assert_eq!(subscriber.messages(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cannot_take_the_key_of_a_queue() {
    let fixture = Fixture::document().await;
    fixture.worqr.enqueue("W1", "T0").await.unwrap();
    let before = fixture.keys();
    let error = fixture.worqr.start_worker("W1", LONG).await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    let hour = Duration::from_secs(3600);
    assert!(!fixture.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert_eq!(fixture.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn ambiguous_names_are_rejected() {
    let fixture = Fixture::document().await;
    for worker in ["a_b", ""] {
        let error = fixture.worqr.start_worker(worker, LONG).await.unwrap_err();
        assert_eq!(error.code(), "invalid", "{worker}");
    }
    for queue in ["Workers", "WorkMap_W1", "windlass_queues", ""] {
        let error = fixture.worqr.enqueue(queue, "T0").await.unwrap_err();
        assert_eq!(error.code(), "invalid", "{queue}");
    }
    let permanent = Lifetime::Permanent;
    let error = fixture
        .worqr
        .start_worker("W1", permanent)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "invalid");
    fixture.has_keys(None, &[]);
    // These names are valid in the released layout.
    let released = connect(&fixture.redis, WorqrSettings::default()).await;
    released.start_worker("a_b", LONG).await.unwrap();
    released.enqueue("Workers", "T0").await.unwrap();
}
