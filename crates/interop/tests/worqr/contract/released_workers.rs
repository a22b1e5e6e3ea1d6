//! Workers in the released layout.

use std::time::Duration;

use windlass_interop::worqr::{BEAT, Cleaned, Failed, Lifetime, TIMEOUT};

use crate::place::{LONG, Place};

#[tokio::test(flavor = "multi_thread")]
async fn start_worker_notes_it_with_a_timer() {
    let place = Place::released().await;
    place.worqr.start_worker("w", LONG).await.unwrap();
    place.has_keys(
        None,
        &[
            "worqr:expiringWorkers set w",
            "worqr:windlass:workers set w",
            "worqr:workerTimers:w string \"RUN\" for an hour",
            "worqr:workers set w",
        ],
    );
    assert_eq!(place.worqr.workers().await.unwrap(), ["w"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_runs_three_seconds_and_the_beat_is_one() {
    assert_eq!((TIMEOUT.as_secs(), BEAT.as_secs()), (3, 1));
    let place = Place::released().await;
    place
        .worqr
        .start_worker("w", Lifetime::default())
        .await
        .unwrap();
    // It may have run out by now on a busy machine, but it never runs longer or for good.
    let left = place.command("PTTL worqr:workerTimers:w").integer();
    assert!(left == -2 || (0..=3000).contains(&left), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_worker_has_no_timer_and_is_never_cleaned_up() {
    let place = Place::released().await;
    let permanent = Lifetime::Permanent;
    place.worqr.start_worker("w", permanent).await.unwrap();
    let expected = [
        "worqr:permanentWorkers set w",
        "worqr:windlass:workers set w",
        "worqr:workers set w",
    ];
    place.has_keys(None, &expected);
    assert!(place.worqr.keep_worker_alive("w", TIMEOUT).await.unwrap());
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned, Cleaned::default());
    place.has_keys(None, &expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keeping_alive_sets_the_timer_again_and_never_a_new_one() {
    let place = Place::released().await;
    let hour = Duration::from_secs(3600);
    place.worqr.start_worker("w", LONG).await.unwrap();
    place.command("EXPIRE worqr:workerTimers:w 1000");
    assert!(place.worqr.keep_worker_alive("w", hour).await.unwrap());
    assert!(place.command("TTL worqr:workerTimers:w").integer() > 3000);

    place.command("DEL worqr:workerTimers:w");
    assert!(!place.worqr.keep_worker_alive("w", hour).await.unwrap());
    assert_eq!(place.command("EXISTS worqr:workerTimers:w").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_notes_the_queue_and_tells_how_many_wait() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worqr.start_worker("w", LONG).await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.start_work("w", "mail").await.unwrap(), 2);
    assert_eq!(place.worqr.start_work("w", "none").await.unwrap(), 0);
    let served = "worqr:workingQueues:w set mail,none".to_owned();
    assert!(place.keys().contains(&served), "{:?}", place.keys());
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_is_refused_to_a_worker_that_was_not_started() {
    let place = Place::released().await;
    let error = place.worqr.start_work("w", "mail").await.unwrap_err();
    assert_eq!(error.code(), "not_found");
    place.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_work_tells_how_many_wait_where_any_do() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    let mut ear = place.ear();
    assert_eq!(place.worqr.request_work("mail").await.unwrap(), 2);
    assert_eq!(place.worqr.request_work("none").await.unwrap(), 0);
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_ends_the_service_of_one_queue() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worqr.enqueue("post", "z").await.unwrap();
    place.worker("w", "mail").await;
    place.worqr.start_work("w", "post").await.unwrap();
    place.start("w", "mail").await;
    let at_post = place.start("w", "post").await;
    let mut ear = place.ear();
    assert_eq!(place.worqr.stop_work("w", "mail").await.unwrap(), 1);
    place.has_keys(
        Some(&at_post),
        &[
            "worqr:expiringWorkers set w",
            "worqr:processes:{process} list z",
            "worqr:queues:mail list b,a",
            "worqr:windlass:processes:w zset {process}",
            "worqr:windlass:workers set w",
            "worqr:workerTimers:w string \"RUN\" for an hour",
            "worqr:workers set w",
            "worqr:workingProcesses:post set {process}",
            "worqr:workingQueues:w set post",
        ],
    );
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_forgets_it_and_puts_its_tasks_back() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("w", "mail").await;
    place.start("w", "mail").await;
    let mut ear = place.ear();
    assert_eq!(
        place.worqr.fail_worker("w").await.unwrap(),
        Failed::Ended(1)
    );
    place.has_keys(None, &["worqr:queues:mail list b,a"]);
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);

    assert_eq!(place.worqr.fail_worker("w").await.unwrap(), Failed::Unknown);
    assert_eq!(ear.heard(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_fails_those_whose_timer_ran_out_and_nobody_else() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    place.worker("dead", "mail").await;
    place.worker("w", "mail").await;
    place.start("dead", "mail").await;
    let process = place.start("w", "mail").await;
    place.command("DEL worqr:workerTimers:dead");
    let mut ear = place.ear();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(
        (cleaned.workers, cleaned.tasks),
        (vec!["dead".to_owned()], 1)
    );
    place.has_keys(
        Some(&process),
        &[
            "worqr:expiringWorkers set w",
            "worqr:processes:{process} list b",
            "worqr:queues:mail list a",
            "worqr:windlass:processes:w zset {process}",
            "worqr:windlass:workers set w",
            "worqr:workerTimers:w string \"RUN\" for an hour",
            "worqr:workers set w",
            "worqr:workingProcesses:mail set {process}",
            "worqr:workingQueues:w set mail",
        ],
    );
    assert_eq!(ear.heard(), ["worqr_mail_work 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_finds_every_dead_worker_among_many() {
    let place = Place::released().await;
    let fill = "for i = 1, 700 do \
                redis.call('SADD', 'worqr:workers', 'w' .. i) \
                redis.call('SADD', 'worqr:expiringWorkers', 'w' .. i) \
                if i % 2 == 0 then redis.call('SET', 'worqr:workerTimers:w' .. i, 'RUN') end \
                end return 1";
    place.redis.command(&["EVAL", fill, "0"]).ok();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.workers.len(), 350);
    assert_eq!(place.worqr.workers().await.unwrap().len(), 350);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_more_processes_than_one_step_takes_loses_none_of_them() {
    const MANY: u64 = 2300;
    let place = Place::released().await;
    place.worker("w", "mail").await;
    // What as many calls of start leave behind.
    let fill = format!(
        "for i = 1, {MANY} do local p = 'mail_' .. i \
         redis.call('LPUSH', 'worqr:processes:' .. p, i) \
         redis.call('SADD', 'worqr:workingProcesses:mail', p) \
         redis.call('ZADD', 'worqr:windlass:processes:w', i, p) end return 1"
    );
    place.redis.command(&["EVAL", &fill, "0"]).ok();
    assert_eq!(
        place.worqr.fail_worker("w").await.unwrap(),
        Failed::Ended(MANY)
    );
    assert_eq!(place.worqr.count("mail").await.unwrap(), MANY);
    assert_eq!(place.worqr.peek("mail").await.unwrap().unwrap(), "1");
    assert_eq!(place.keys().len(), 1, "{:?}", place.keys());
}
