//! Each defect that was found in the original, and that ours does not have it.

use windlass_interop::worqr::{Ended, Enqueued, Event, Failed, Settings};

use crate::place::{LONG, Place, next};

const MD5_OF_A: &str = "0cc175b9c0f1b6a831c399e269772661";

/// Two workers at one queue, each with a task in progress: `a` at `w`, `b` at `other`.
async fn two_at_work() -> (Place, [String; 2]) {
    let place = Place::released().await;
    let tasks = ["a", "b", "c"];
    place.worqr.enqueue_many("mail", tasks).await.unwrap();
    place.worker("w", "mail").await;
    place.worker("other", "mail").await;
    let first = place.start("w", "mail").await.id;
    let second = place.start("other", "mail").await.id;
    (place, [first, second])
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_of_one_worker_leaves_the_tasks_of_the_others() {
    let (place, [first, second]) = two_at_work().await;
    assert_eq!(place.worqr.stop_work("w", "mail").await.unwrap(), 1);
    assert_eq!(place.waiting("mail").await, ["c", "a"]);
    let mine = place.worqr.finish_task("w", &first).await.unwrap();
    let others = place.worqr.finish_task("other", &second).await.unwrap();
    assert_eq!((mine, others), (Ended::Gone, Ended::Ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_leaves_the_tasks_of_the_others() {
    let (place, [_, second]) = two_at_work().await;
    assert_eq!(
        place.worqr.fail_worker("w").await.unwrap(),
        Failed::Ended(1)
    );
    assert_eq!(place.waiting("mail").await, ["c", "a"]);
    let others = place.worqr.finish_task("other", &second).await.unwrap();
    assert_eq!(others, Ended::Ended);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_back_is_taken_next_and_in_its_old_order() {
    let place = Place::released().await;
    let tasks = ["a", "b", "c", "d", "e"];
    place.worqr.enqueue_many("mail", tasks).await.unwrap();
    place.worker("w", "mail").await;
    for _ in 0..4 {
        place.start("w", "mail").await;
    }
    place.worqr.fail_worker("w").await.unwrap();
    place.worker("w", "mail").await;
    for task in tasks {
        assert_eq!(place.start("w", "mail").await.task, task);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_listens_is_told_of_what_goes_back() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    let work = Event::Work {
        queue: "mail".to_owned(),
        count: 1,
    };
    for way in ["stop_task", "stop_work", "fail_worker", "cleanup"] {
        place.worker("w", "mail").await;
        let process = place.start("w", "mail").await;
        let mut listener = place.worqr.listen(&["mail"]).await.unwrap();
        match way {
            "stop_task" => drop(place.worqr.stop_task("w", &process.id).await.unwrap()),
            "stop_work" => drop(place.worqr.stop_work("w", "mail").await.unwrap()),
            "fail_worker" => drop(place.worqr.fail_worker("w").await.unwrap()),
            _ => {
                place.command("DEL worqr:workerTimers:w");
                place.worqr.cleanup_workers().await.unwrap();
            }
        }
        assert_eq!(next(&mut listener).await, work, "{way}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_can_be_unique_again() {
    let place = Place::released().await;
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    place.worqr.cancel_tasks("mail", "a").await.unwrap();
    place.has_keys(None, &[]);
    let again = place.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(again, Enqueued::Added);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_task_in_progress_leaves_its_lock_to_its_end() {
    let place = Place::released().await;
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    assert_eq!(place.worqr.cancel_tasks("mail", "a").await.unwrap(), 0);
    let meanwhile = place.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(meanwhile, Enqueued::Duplicate);
    place.worqr.finish_task("w", &process.id).await.unwrap();
    let after = place.worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(after, Enqueued::Added);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_queue_frees_every_lock_of_its_tasks() {
    const MANY: u32 = 300;
    let place = Place::released().await;
    for number in 0..MANY {
        let task = format!("task {number}");
        place.worqr.enqueue_unique("mail", task).await.unwrap();
    }
    // One of the original's, which nothing of ours notes.
    let mut original = place.original("o");
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
    let deleted = place.worqr.delete_queue("mail").await.unwrap();
    assert_eq!(deleted, u64::from(MANY) + 1);
    place.has_keys(None, &[]);
    assert!(original.enqueue_unique("mail", "a", MD5_OF_A));
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_that_a_cut_delete_left_are_freed_by_the_next_cleanup() {
    let place = Place::released().await;
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    // What the first step of a delete leaves.
    place.command("RENAME worqr:queues:mail worqr:windlass:deleted:n1");
    place.command("SADD worqr:windlass:deleted n1");
    place.worqr.cleanup_workers().await.unwrap();
    place.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_after_a_refused_duplicate_is_not_lost() {
    let place = Place::released().await;
    let worqr = &place.worqr;
    worqr.enqueue_unique("mail", "a").await.unwrap();
    let refused = worqr.enqueue_unique("mail", "a").await.unwrap();
    assert_eq!(refused, Enqueued::Duplicate);
    // Here the original's transaction is aborted: the key that it still watches has changed.
    place.command(&format!("SET worqr:uniqueTasks:{MD5_OF_A} x"));
    worqr.enqueue("mail", "b").await.unwrap();
    assert_eq!(place.waiting("mail").await, ["b", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_taken_back_cannot_be_finished() {
    let place = Place::released().await;
    place.worqr.enqueue_unique("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    place.worqr.fail_worker("w").await.unwrap();
    let before = place.keys();
    let mut ear = place.ear();
    let finished = place.worqr.finish_task("w", &process.id).await.unwrap();
    let stopped = place.worqr.stop_task("w", &process.id).await.unwrap();
    assert_eq!((finished, stopped), (Ended::Gone, Ended::Gone));
    assert_eq!(place.keys(), before);
    assert_eq!(ear.heard(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_the_original_took_back_cannot_be_finished_either() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    let process = place.start("w", "mail").await;
    let mut original = place.original("o");
    let read = original.stop_work_reads("mail");
    original.stop_work_writes("mail", &read);
    let mut ear = place.ear();
    let finished = place.worqr.finish_task("w", &process.id).await.unwrap();
    assert_eq!(finished, Ended::Gone);
    assert_eq!(ear.heard(), [""; 0]);
    assert_eq!(place.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_falsy_is_told() {
    let place = Place::released().await;
    place.worker("w", "mail").await;
    for result in ["0", "false", "\"\"", "null"] {
        place.worqr.enqueue("mail", "a").await.unwrap();
        let process = place.start("w", "mail").await;
        let mut ear = place.ear();
        let value: serde_json::Value = serde_json::from_str(result).unwrap();
        let finish = place.worqr.finish_task_with("w", &process.id, &value);
        finish.await.unwrap();
        let told = format!(r#"worqr_mail_done {{"workerId":"w","task":"a","result":{result}}}"#);
        assert_eq!(ear.heard(), [told]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_starts_in_the_midst_of_an_originals_stop_work_is_never_lost() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    let read = original.stop_work_reads("mail");
    place.start("w", "mail").await;
    original.stop_work_writes("mail", &read);
    // Nobody but us knows of the process any more.
    assert_eq!(
        place
            .command("EXISTS worqr:workingProcesses:mail")
            .integer(),
        0
    );
    place.command("DEL worqr:workerTimers:w");
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 1);
    assert_eq!(place.waiting("mail").await, ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_the_original_failed_leaves_nothing_behind() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    place.worker("w", "mail").await;
    place.start("w", "mail").await;
    place.original("o").fail_worker("w", "mail");
    place.worqr.cleanup_workers().await.unwrap();
    place.has_keys(None, &["worqr:queues:mail list a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_and_names_may_have_any_characters() {
    for prefix in ["my_app", "a:b", "x*[y]?", "_"] {
        let place = Place::new(Settings::released(prefix)).await;
        let queue = "a_b:c:d";
        let worqr = &place.worqr;
        let mut listener = worqr.listen(&[queue]).await.unwrap();
        worqr.enqueue(queue, "t").await.unwrap();
        let work = Event::Work {
            queue: queue.to_owned(),
            count: 1,
        };
        assert_eq!(next(&mut listener).await, work, "{prefix}");
        assert_eq!(worqr.queues().await.unwrap(), [queue], "{prefix}");
        worqr.start_worker("w_1:x", LONG).await.unwrap();
        worqr.start_work("w_1:x", queue).await.unwrap();
        let process = place.start("w_1:x", queue).await;
        let matching = worqr.matching_processes("t").await.unwrap();
        assert_eq!(matching, [process.id], "{prefix}");
        assert_eq!(worqr.fail_worker("w_1:x").await.unwrap(), Failed::Ended(1));
        assert_eq!(worqr.count(queue).await.unwrap(), 1, "{prefix}");
    }
}
