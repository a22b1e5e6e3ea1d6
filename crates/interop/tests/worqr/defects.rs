//! Defects of the original that Windlass does not have.

use windlass_interop::worqr::{
    ProcessEnd, UniqueEnqueued, WorkerFailure, WorqrEvent, WorqrSettings,
};

use crate::fixture::{Fixture, LONG, next};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

/// Two workers on one queue, each with a task in progress: `w` runs `a`, `other` runs `b`.
async fn two_at_work() -> (Fixture, [String; 2]) {
    let fixture = Fixture::released().await;
    let tasks = ["a", "b", "c"];
    fixture.worqr.enqueue_many("mail", tasks).await.unwrap();
    fixture.worker("w", "mail").await;
    fixture.worker("other", "mail").await;
    let first = fixture.start("w", "mail").await.id;
    let second = fixture.start("other", "mail").await.id;
    (fixture, [first, second])
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_of_one_worker_leaves_the_tasks_of_the_others() {
    let (fixture, [first, second]) = two_at_work().await;
    assert_eq!(fixture.worqr.stop_work("w", "mail").await.unwrap(), 1);
    assert_eq!(fixture.waiting("mail").await, ["c", "a"]);
    let mine = fixture.worqr.finish_task("w", &first).await.unwrap();
    let others = fixture.worqr.finish_task("other", &second).await.unwrap();
    assert_eq!((mine, others), (ProcessEnd::Gone, ProcessEnd::Ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_leaves_the_tasks_of_the_others() {
    let (fixture, [_, second]) = two_at_work().await;
    assert_eq!(
        fixture.worqr.fail_worker("w").await.unwrap(),
        WorkerFailure::Ended(1)
    );
    assert_eq!(fixture.waiting("mail").await, ["c", "a"]);
    let others = fixture.worqr.finish_task("other", &second).await.unwrap();
    assert_eq!(others, ProcessEnd::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn returned_tasks_are_taken_next_and_in_their_old_order() {
    let fixture = Fixture::released().await;
    let tasks = ["a", "b", "c", "d", "e"];
    fixture.worqr.enqueue_many("mail", tasks).await.unwrap();
    fixture.worker("w", "mail").await;
    for _ in 0..4 {
        fixture.start("w", "mail").await;
    }
    fixture.worqr.fail_worker("w").await.unwrap();
    fixture.worker("w", "mail").await;
    for task in tasks {
        assert_eq!(fixture.start("w", "mail").await.task, task);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_notified_of_returned_tasks() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    let work = WorqrEvent::Work {
        queue: "mail".to_owned(),
        count: 1,
    };
    for operation in ["stop_task", "stop_work", "fail_worker", "cleanup"] {
        fixture.worker("w", "mail").await;
        let process = fixture.start("w", "mail").await;
        let mut listener = fixture.worqr.listen(&["mail"]).await.unwrap();
        match operation {
            "stop_task" => drop(fixture.worqr.stop_task("w", &process.id).await.unwrap()),
            "stop_work" => drop(fixture.worqr.stop_work("w", "mail").await.unwrap()),
            "fail_worker" => drop(fixture.worqr.fail_worker("w").await.unwrap()),
            _ => {
                fixture.command("DEL worqr:workerTimers:w");
                fixture.worqr.cleanup_workers().await.unwrap();
            }
        }
        assert_eq!(next(&mut listener).await, work, "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_can_be_unique_again() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    fixture.worqr.cancel_tasks("mail", "a").await.unwrap();
    fixture.has_keys(None, &[]);
    let again = fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(again, UniqueEnqueued::Added);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_task_in_progress_leaves_its_lock_to_its_end() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    assert_eq!(fixture.worqr.cancel_tasks("mail", "a").await.unwrap(), 0);
    let meanwhile = fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(meanwhile, UniqueEnqueued::Duplicate);
    fixture.worqr.finish_task("w", &process.id).await.unwrap();
    let after = fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(after, UniqueEnqueued::Added);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_queue_frees_every_lock_of_its_tasks() {
    const MANY: u32 = 300;
    let fixture = Fixture::released().await;
    for number in 0..MANY {
        let task = format!("task {number}");
        fixture.worqr.enqueue_unique("mail", task).await.unwrap();
    }
    // A task of the original, which Windlass has not recorded.
    let mut original = fixture.original("o");
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    let deleted = fixture.worqr.delete_queue("mail").await.unwrap();
    assert_eq!(deleted, u64::from(MANY) + 1);
    fixture.has_keys(None, &[]);
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_left_by_an_interrupted_delete_are_freed_by_the_next_cleanup() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    // The state after the first script of a delete.
    fixture.command("RENAME worqr:queues:mail worqr:windlass:deleted:n1");
    fixture.command("SADD worqr:windlass:deleted n1");
    fixture.worqr.cleanup_workers().await.unwrap();
    fixture.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_after_a_rejected_duplicate_is_not_lost() {
    let fixture = Fixture::released().await;
    let worqr = &fixture.worqr;
    worqr.enqueue_unique("mail", "a").await.unwrap();
    let refused = worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(refused, UniqueEnqueued::Duplicate);
    // The original's transaction would abort here, because the key it still watches has changed.
    fixture.command(&format!("SET worqr:uniqueTasks:{MD5_OF_A} x"));
    worqr.enqueue("mail", "b").await.unwrap();
    assert_eq!(fixture.waiting("mail").await, ["b", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_taken_back_cannot_be_finished() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue_unique("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    fixture.worqr.fail_worker("w").await.unwrap();
    let before = fixture.keys();
    let mut subscriber = fixture.subscriber();
    let finished = fixture.worqr.finish_task("w", &process.id).await.unwrap();
    let stopped = fixture.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!((finished, stopped), (ProcessEnd::Gone, ProcessEnd::Gone));
    assert_eq!(fixture.keys(), before);
    assert_eq!(subscriber.messages(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_the_original_took_back_cannot_be_finished_either() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    let process = fixture.start("w", "mail").await;
    let mut original = fixture.original("o");
    let read = original.stop_work_reads("mail");
    original.stop_work_writes("mail", &read);
    let mut subscriber = fixture.subscriber();
    let finished = fixture.worqr.finish_task("w", &process.id).await.unwrap();
    assert_eq!(finished, ProcessEnd::Gone);
    assert_eq!(subscriber.messages(), [""; 0]);
    assert_eq!(fixture.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_falsy_result_is_published() {
    let fixture = Fixture::released().await;
    fixture.worker("w", "mail").await;
    for result in ["0", "false", "\"\"", "null"] {
        fixture.worqr.enqueue("mail", "a").await.unwrap();
        let process = fixture.start("w", "mail").await;
        let mut subscriber = fixture.subscriber();
        let value: serde_json::Value = serde_json::from_str(result).unwrap();
        let finish = fixture.worqr.finish_task_with("w", &process.id, &value);
        finish.await.unwrap();
        let message = format!(r#"worqr_mail_done {{"workerId":"w","task":"a","result":{result}}}"#);
        assert_eq!(subscriber.messages(), [message]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_started_during_an_originals_stop_work_is_not_lost() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    let read = original.stop_work_reads("mail");
    fixture.start("w", "mail").await;
    original.stop_work_writes("mail", &read);
    // Only the keys of Windlass have the process now.
    assert_eq!(
        fixture
            .command("EXISTS worqr:workingProcesses:mail")
            .integer(),
        0
    );
    fixture.command("DEL worqr:workerTimers:w");
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 1);
    assert_eq!(fixture.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_the_original_failed_leaves_nothing_behind() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    fixture.worker("w", "mail").await;
    fixture.start("w", "mail").await;
    fixture.original("o").fail_worker("w", "mail");
    fixture.worqr.cleanup_workers().await.unwrap();
    fixture.has_keys(None, &["worqr:queues:mail list a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_and_names_may_have_any_characters() {
    for prefix in ["my_app", "a:b", "x*[y]?", "_"] {
        let fixture = Fixture::new(WorqrSettings::released(prefix)).await;
        let queue = "a_b:c:d";
        let worqr = &fixture.worqr;
        let mut listener = worqr.listen(&[queue]).await.unwrap();
        worqr.enqueue(queue, "t").await.unwrap();
        let work = WorqrEvent::Work {
            queue: queue.to_owned(),
            count: 1,
        };
        assert_eq!(next(&mut listener).await, work, "{prefix}");
        assert_eq!(worqr.queues().await.unwrap(), [queue], "{prefix}");
        worqr.start_worker("w_1:x", LONG).await.unwrap();
        worqr.start_work("w_1:x", queue).await.unwrap();
        let process = fixture.start("w_1:x", queue).await;
        let matching = worqr.matching_processes("t").await.unwrap();
        assert_eq!(matching, [process.id], "{prefix}");
        assert_eq!(
            worqr.fail_worker("w_1:x").await.unwrap(),
            WorkerFailure::Ended(1)
        );
        assert_eq!(worqr.count(queue).await.unwrap(), 1, "{prefix}");
    }
}
