//! Queues, tasks and processes in the released layout.

use windlass_interop::worqr::{ProcessEnd, UniqueEnqueued, WorqrSettings};

use crate::fixture::{Fixture, LONG};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

/// The keys of a worker `w` that serves `mail`, without processes.
const WORKER: [&str; 5] = [
    "worqr:expiringWorkers set w",
    "worqr:windlass:workers set w",
    "worqr:workerTimers:w string \"RUN\" for an hour",
    "worqr:workers set w",
    "worqr:workingQueues:w set mail",
];

fn with_worker<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WORKER, more].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn enqueue_pushes_at_the_left_and_publishes_the_count() {
    let fixture = Fixture::released().await;
    let mut subscriber = fixture.subscriber();
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    fixture
        .worqr
        .enqueue_many("mail", ["b", "c"])
        .await
        .unwrap();
    fixture.has_keys(None, &["worqr:queues:mail list c,b,a"]);
    assert_eq!(
        subscriber.messages(),
        ["worqr_mail_work 1", "worqr_mail_work 2"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_task_sets_the_lock_of_the_original() {
    let fixture = Fixture::released().await;
    let mut subscriber = fixture.subscriber();
    let added = fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(added, UniqueEnqueued::Added);
    let lock = format!("worqr:uniqueTasks:{MD5_OF_A} string \" \"");
    fixture.has_keys(None, &["worqr:queues:mail list a", &lock]);
    assert_eq!(subscriber.messages(), ["worqr_mail_work 1"]);

    let again = fixture.worqr.enqueue_unique("other", "a").await.unwrap();
    assert_eq!(again, UniqueEnqueued::Duplicate);
    fixture.has_keys(None, &["worqr:queues:mail list a", &lock]);
    assert_eq!(subscriber.messages(), [""; 0]);
    assert!(!fixture.original("o").enqueue_unique("mail", "a", MD5_OF_A));
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_queues_changes_nothing() {
    let fixture = Fixture::released().await;
    fixture.command("RPUSH worqr:queues:mail c b a");
    fixture.command("RPUSH worqr:queues:post z");
    fixture.command("SET worqr:queuesOfOthers 1");
    let before = fixture.keys();
    let worqr = &fixture.worqr;
    assert_eq!(worqr.queues().await.unwrap(), ["mail", "post"]);
    assert_eq!(worqr.peek("mail").await.unwrap().unwrap(), "a");
    assert_eq!(worqr.peek("none").await.unwrap(), None);
    assert_eq!(worqr.count("mail").await.unwrap(), 3);
    assert_eq!(worqr.count("none").await.unwrap(), 0);
    assert_eq!(fixture.waiting("mail").await, ["c", "b", "a"]);
    assert_eq!(worqr.tasks("mail", 2).await.unwrap(), ["c", "b"]);
    assert_eq!(fixture.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_found_among_many_other_keys() {
    let fixture = Fixture::released().await;
    let fill = "for i = 1, 5000 do redis.call('SET', 'other:' .. i, 1) end \
                for i = 1, 2500 do redis.call('LPUSH', 'worqr:queues:q' .. i, 1) end return 1";
    fixture.redis.command(&["EVAL", fill, "0"]).ok();
    assert_eq!(fixture.worqr.queues().await.unwrap().len(), 2500);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_removes_every_copy_and_publishes_the_task() {
    let fixture = Fixture::released().await;
    let tasks = ["a", "b", "a"];
    fixture.worqr.enqueue_many("mail", tasks).await.unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.cancel_tasks("mail", "a").await.unwrap(), 2);
    fixture.has_keys(None, &["worqr:queues:mail list b"]);
    assert_eq!(subscriber.messages(), ["worqr_mail_cancel a"]);

    assert_eq!(fixture.worqr.cancel_tasks("mail", "x").await.unwrap(), 0);
    assert_eq!(subscriber.messages(), ["worqr_mail_cancel x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_removes_the_queue_and_publishes_once() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worqr.enqueue("post", "z").await.unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.delete_queue("mail").await.unwrap(), 2);
    fixture.has_keys(None, &["worqr:queues:post list z"]);
    assert_eq!(subscriber.messages(), ["worqr_mail_delete "]);

    assert_eq!(fixture.worqr.delete_queue("mail").await.unwrap(), 0);
    assert_eq!(subscriber.messages(), ["worqr_mail_delete "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_moves_the_oldest_task_into_a_process() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("w", "mail").await;
    let mut subscriber = fixture.subscriber();
    let process = fixture.start("w", "mail").await;
    assert_eq!(process.task, "a");
    assert_eq!(process.id.len(), "mail_".len() + 36);
    assert!(process.id.starts_with("mail_"));
    let expected = with_worker(&[
        "worqr:processes:{process} list a",
        "worqr:queues:mail list b",
        "worqr:windlass:processes:w zset {process}",
        "worqr:workingProcesses:mail set {process}",
    ]);
    fixture.has_keys(Some(&process), &expected);
    assert_eq!(subscriber.messages(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_finds_nothing_in_an_empty_queue_and_leaves_nothing() {
    let fixture = Fixture::released().await;
    fixture.worker("w", "mail").await;
    assert_eq!(fixture.worqr.start_task("w", "mail").await.unwrap(), None);
    fixture.has_keys(None, &WORKER);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_is_refused_to_a_worker_that_does_not_serve_the_queue() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("post", "z").await.unwrap();
    fixture.worker("w", "mail").await;
    let error = fixture.worqr.start_task("w", "post").await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    fixture.has_keys(None, &with_worker(&["worqr:queues:post list z"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_returns_the_task_and_removes_the_process() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    let mut subscriber = fixture.subscriber();
    let stopped = fixture.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!(stopped, ProcessEnd::Ended);
    fixture.has_keys(None, &with_worker(&["worqr:queues:mail list b,a"]));
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);

    let again = fixture.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!(again, ProcessEnd::Gone);
    assert_eq!(subscriber.messages(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_removes_process_and_lock_and_publishes_the_result() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    let mut subscriber = fixture.subscriber();
    let result = serde_json::json!({"sent": true});
    let finish = fixture.worqr.finish_task_with("w", &process.id, &result);
    assert_eq!(finish.await.unwrap(), ProcessEnd::Ended);
    fixture.has_keys(None, &WORKER);
    let message = r#"worqr_mail_done {"workerId":"w","task":"a","result":{"sent":true}}"#;
    assert_eq!(subscriber.messages(), [message]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_without_a_result_publishes_none() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "say \"a\"\n").await.unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    let mut subscriber = fixture.subscriber();
    fixture.worqr.finish_task("w", &process.id).await.unwrap();
    let message = r#"worqr_mail_done {"workerId":"w","task":"say \"a\"\n"}"#;
    assert_eq!(subscriber.messages(), [message]);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_found_by_their_task_without_changing_anything() {
    let fixture = Fixture::released().await;
    let tasks = ["a", "b", "a"];
    fixture.worqr.enqueue_many("mail", tasks).await.unwrap();
    fixture.worker("w", "mail").await;
    let mut ids = Vec::new();
    for _ in tasks {
        ids.push(fixture.start("w", "mail").await.id);
    }
    let before = fixture.keys();
    let mut of_a = vec![ids[0].clone(), ids[2].clone()];
    of_a.sort();
    let worqr = &fixture.worqr;
    assert_eq!(worqr.matching_processes("a").await.unwrap(), of_a);
    assert_eq!(worqr.matching_processes("x").await.unwrap(), [""; 0]);
    let all = worqr.processes().await.unwrap();
    assert_eq!(all.len(), 3);
    let b = all.iter().find(|process| process.id == ids[1]).unwrap();
    assert_eq!(b.task, "b");
    assert_eq!(fixture.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prefixes_on_one_server_are_independent() {
    let fixture = Fixture::released().await;
    let other = crate::fixture::connect(&fixture.redis, WorqrSettings::released("other")).await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    other.start_worker("w", LONG).await.unwrap();
    other.start_work("w", "mail").await.unwrap();
    assert_eq!(other.start_task("w", "mail").await.unwrap(), None);
    assert_eq!(other.queues().await.unwrap(), [""; 0]);
}
