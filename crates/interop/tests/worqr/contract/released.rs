//! Queues, tasks and processes in the released layout.

use windlass_interop::worqr::{Ended, Enqueued, Settings};

use crate::place::{LONG, Place};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

/// What a worker `w` that serves `mail` has, besides its processes.
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
async fn enqueue_pushes_at_the_left_and_tells_how_many() {
    let place = Place::released().await;
    let mut ear = place.ear();
    place.worqr.enqueue("mail", "a").await.unwrap();
    place.worqr.enqueue_many("mail", ["b", "c"]).await.unwrap();
    place.has_keys(None, &["worqr:queues:mail list c,b,a"]);
    assert_eq!(ear.heard(), ["worqr_mail_work 1", "worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unique_task_sets_the_lock_that_the_original_looks_for() {
    let place = Place::released().await;
    let mut ear = place.ear();
    let added = place.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(added, Enqueued::Added);
    let lock = format!("worqr:uniqueTasks:{MD5_OF_A} string \" \"");
    place.has_keys(None, &["worqr:queues:mail list a", &lock]);
    assert_eq!(ear.heard(), ["worqr_mail_work 1"]);

    let again = place.worqr.enqueue_unique("other", "a").await.unwrap();
    assert_eq!(again, Enqueued::Duplicate);
    place.has_keys(None, &["worqr:queues:mail list a", &lock]);
    assert_eq!(ear.heard(), [""; 0]);
    assert!(!place.original("o").enqueue_unique("mail", "a", MD5_OF_A));
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_queues_changes_nothing() {
    let place = Place::released().await;
    place.command("RPUSH worqr:queues:mail c b a");
    place.command("RPUSH worqr:queues:post z");
    place.command("SET worqr:queuesOfOthers 1");
    let before = place.keys();
    let worqr = &place.worqr;
    assert_eq!(worqr.queues().await.unwrap(), ["mail", "post"]);
    assert_eq!(worqr.peek("mail").await.unwrap().unwrap(), "a");
    assert_eq!(worqr.peek("none").await.unwrap(), None);
    assert_eq!(worqr.count("mail").await.unwrap(), 3);
    assert_eq!(worqr.count("none").await.unwrap(), 0);
    assert_eq!(place.waiting("mail").await, ["c", "b", "a"]);
    assert_eq!(worqr.tasks("mail", 2).await.unwrap(), ["c", "b"]);
    assert_eq!(place.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_found_among_many_other_keys() {
    let place = Place::released().await;
    let fill = "for i = 1, 5000 do redis.call('SET', 'other:' .. i, 1) end \
                for i = 1, 2500 do redis.call('LPUSH', 'worqr:queues:q' .. i, 1) end return 1";
    place.redis.command(&["EVAL", fill, "0"]).ok();
    assert_eq!(place.worqr.queues().await.unwrap().len(), 2500);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_takes_every_copy_and_tells_the_task() {
    let place = Place::released().await;
    let tasks = ["a", "b", "a"];
    place.worqr.enqueue_many("mail", tasks).await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.cancel_tasks("mail", "a").await.unwrap(), 2);
    place.has_keys(None, &["worqr:queues:mail list b"]);
    assert_eq!(ear.heard(), ["worqr_mail_cancel a"]);

    assert_eq!(place.worqr.cancel_tasks("mail", "x").await.unwrap(), 0);
    assert_eq!(ear.heard(), ["worqr_mail_cancel x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_removes_the_queue_and_tells_nothing_but_that() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worqr.enqueue("post", "z").await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.delete_queue("mail").await.unwrap(), 2);
    place.has_keys(None, &["worqr:queues:post list z"]);
    assert_eq!(ear.heard(), ["worqr_mail_delete "]);

    assert_eq!(place.worqr.delete_queue("mail").await.unwrap(), 0);
    assert_eq!(ear.heard(), ["worqr_mail_delete "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_moves_the_oldest_task_into_a_process() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("w", "mail").await;
    let mut ear = place.ear();
    let process = place.start("w", "mail").await;
    assert_eq!(process.task, "a");
    assert_eq!(process.id.len(), "mail_".len() + 36);
    assert!(process.id.starts_with("mail_"));
    let expected = with_worker(&[
        "worqr:processes:{process} list a",
        "worqr:queues:mail list b",
        "worqr:windlass:processes:w zset {process}",
        "worqr:workingProcesses:mail set {process}",
    ]);
    place.has_keys(Some(&process), &expected);
    assert_eq!(ear.heard(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_finds_nothing_in_an_empty_queue_and_leaves_nothing() {
    let place = Place::released().await;
    place.worker("w", "mail").await;
    assert_eq!(place.worqr.start_task("w", "mail").await.unwrap(), None);
    place.has_keys(None, &WORKER);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_is_refused_to_a_worker_that_does_not_serve_the_queue() {
    let place = Place::released().await;
    place.worqr.enqueue("post", "z").await.unwrap();
    place.worker("w", "mail").await;
    let error = place.worqr.start_task("w", "post").await.unwrap_err();
    assert_eq!(error.code(), "conflict");
    place.has_keys(None, &with_worker(&["worqr:queues:post list z"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_puts_the_task_back_and_forgets_the_process() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    let mut ear = place.ear();
    let stopped = place.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!(stopped, Ended::Ended);
    place.has_keys(None, &with_worker(&["worqr:queues:mail list b,a"]));
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);

    let again = place.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!(again, Ended::Gone);
    assert_eq!(ear.heard(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_removes_process_and_lock_and_tells_the_result() {
    let place = Place::released().await;
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    let mut ear = place.ear();
    let result = serde_json::json!({"sent": true});
    let finish = place.worqr.finish_task_with("w", &process.id, &result);
    assert_eq!(finish.await.unwrap(), Ended::Ended);
    place.has_keys(None, &WORKER);
    let message = r#"worqr_mail_done {"workerId":"w","task":"a","result":{"sent":true}}"#;
    assert_eq!(ear.heard(), [message]);
}

#[tokio::test(flavor = "multi_thread")]
async fn finish_without_a_result_tells_none() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "say \"a\"\n").await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    let mut ear = place.ear();
    place.worqr.finish_task("w", &process.id).await.unwrap();
    let message = r#"worqr_mail_done {"workerId":"w","task":"say \"a\"\n"}"#;
    assert_eq!(ear.heard(), [message]);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_found_by_their_task_without_changing_anything() {
    let place = Place::released().await;
    let tasks = ["a", "b", "a"];
    place.worqr.enqueue_many("mail", tasks).await.unwrap();
    place.worker("w", "mail").await;
    let mut ids = Vec::new();
    for _ in tasks {
        ids.push(place.start("w", "mail").await.id);
    }
    let before = place.keys();
    let mut of_a = vec![ids[0].clone(), ids[2].clone()];
    of_a.sort();
    let worqr = &place.worqr;
    assert_eq!(worqr.matching_processes("a").await.unwrap(), of_a);
    assert_eq!(worqr.matching_processes("x").await.unwrap(), [""; 0]);
    let all = worqr.processes().await.unwrap();
    assert_eq!(all.len(), 3);
    let b = all.iter().find(|process| process.id == ids[1]).unwrap();
    assert_eq!(b.task, "b");
    assert_eq!(place.keys(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prefixes_on_one_server_know_nothing_of_each_other() {
    let place = Place::released().await;
    let other = crate::place::peer(&place.redis, Settings::released("other")).await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    other.start_worker("w", LONG).await.unwrap();
    other.start_work("w", "mail").await.unwrap();
    assert_eq!(other.start_task("w", "mail").await.unwrap(), None);
    assert_eq!(other.queues().await.unwrap(), [""; 0]);
}
