//! Workers in the document's layout.

use std::time::Duration;

use windlass_interop::worqr::{Failed, Lifetime, Settings};

use crate::place::{LONG, Place, peer};

#[tokio::test(flavor = "multi_thread")]
async fn start_worker_notes_it_and_its_plain_key_says_run() {
    let place = Place::document().await;
    place.worqr.start_worker("W1", LONG).await.unwrap();
    place.has_keys(
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
    let place = Place::document().await;
    let hour = Duration::from_secs(3600);
    place.worqr.start_worker("W1", LONG).await.unwrap();
    place.command("EXPIRE W1 1000");
    assert!(place.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert!(place.command("TTL W1").integer() > 3000);
    place.command("DEL W1");
    assert!(!place.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert_eq!(place.command("EXISTS W1").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_maps_the_worker_to_its_queues() {
    let place = Place::document().await;
    place.worqr.enqueue("Q1", "T0").await.unwrap();
    place.worqr.start_worker("W1", LONG).await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.start_work("W1", "Q1").await.unwrap(), 1);
    assert_eq!(place.worqr.request_work("Q1").await.unwrap(), 1);
    assert!(place.keys().contains(&"WorkMap_W1 set Q1".to_owned()));
    assert_eq!(ear.heard(), ["Q1_work 1", "Q1_work 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_returns_what_remains_and_tells() {
    let place = Place::document().await;
    place.worqr.enqueue_many("Q1", ["T0", "T1"]).await.unwrap();
    place.worker("W1", "Q1").await;
    place.start("W1", "Q1").await;
    let mut ear = place.ear();
    assert_eq!(place.worqr.stop_work("W1", "Q1").await.unwrap(), 1);
    place.has_keys(
        None,
        &[
            "Q1 list T1,T0",
            "W1 string \"RUN\" for an hour",
            "Workers set W1",
            "windlass_queues set Q1",
            "windlass_workers set W1",
        ],
    );
    assert_eq!(ear.heard(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_returns_the_tasks_of_this_worker_alone() {
    let place = Place::document().await;
    let tasks = ["T0", "T1", "T2"];
    place.worqr.enqueue_many("Q1", tasks).await.unwrap();
    place.worker("W1", "Q1").await;
    place.worker("W2", "Q1").await;
    place.start("W1", "Q1").await;
    let other = place.start("W2", "Q1").await;
    let mut ear = place.ear();
    assert_eq!(
        place.worqr.fail_worker("W1").await.unwrap(),
        Failed::Ended(1)
    );
    place.has_keys(
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
    assert_eq!(ear.heard(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_returns_what_a_dead_worker_of_another_client_had() {
    let place = Place::document().await;
    // What the document's startWorker, startWork and startTask leave when the timer ran out.
    place.command("SADD Workers W1");
    place.command("SADD WorkMap_W1 Q1");
    place.command("SADD W1_Q1 P1");
    place.command("LPUSH P1 T0");
    place.command("LPUSH Q1 T1");
    let mut ear = place.ear();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!((cleaned.workers, cleaned.tasks), (vec!["W1".to_owned()], 1));
    place.has_keys(None, &["Q1 list T1,T0"]);
    assert_eq!(ear.heard(), ["Q1_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cannot_take_the_key_of_a_queue() {
    let place = Place::document().await;
    place.worqr.enqueue("W1", "T0").await.unwrap();
    let before = place.keys();
    let error = place.worqr.start_worker("W1", LONG).await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    let hour = Duration::from_secs(3600);
    assert!(!place.worqr.keep_worker_alive("W1", hour).await.unwrap());
    assert_eq!(place.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_could_mean_two_things_are_refused() {
    let place = Place::document().await;
    for worker in ["a_b", ""] {
        let error = place.worqr.start_worker(worker, LONG).await.unwrap_err();
        assert_eq!(error.code(), "invalid", "{worker}");
    }
    for queue in ["Workers", "WorkMap_W1", "windlass_queues", ""] {
        let error = place.worqr.enqueue(queue, "T0").await.unwrap_err();
        assert_eq!(error.code(), "invalid", "{queue}");
    }
    let permanent = Lifetime::Permanent;
    let error = place.worqr.start_worker("W1", permanent).await.unwrap_err();
    assert_eq!(error.code(), "invalid");
    place.has_keys(None, &[]);
    // The released layout keeps them apart.
    let released = peer(&place.redis, Settings::default()).await;
    released.start_worker("a_b", LONG).await.unwrap();
    released.enqueue("Workers", "T0").await.unwrap();
}
