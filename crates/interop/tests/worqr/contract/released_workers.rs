//! Workers in the released layout.

use std::time::Duration;

use windlass_interop::worqr::{HEARTBEAT, Lifetime, TIMEOUT, WorkerFailure, WorqrCleanReport};

use crate::fixture::{Fixture, LONG};

#[tokio::test(flavor = "multi_thread")]
async fn start_worker_registers_it_with_a_timer() {
    let fixture = Fixture::released().await;
    fixture.worqr.start_worker("w", LONG).await.unwrap();
    fixture.has_keys(
        None,
        &[
            "worqr:expiringWorkers set w",
            "worqr:windlass:workers set w",
            "worqr:workerTimers:w string \"RUN\" for an hour",
            "worqr:workers set w",
        ],
    );
    assert_eq!(fixture.worqr.workers().await.unwrap(), ["w"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeout_is_three_seconds_and_the_heartbeat_one() {
    assert_eq!((TIMEOUT.as_secs(), HEARTBEAT.as_secs()), (3, 1));
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .start_worker("w", Lifetime::default())
        .await
        .unwrap();
    // On a busy machine it may have run out, but it never runs longer.
    let left = fixture.command("PTTL worqr:workerTimers:w").integer();
    assert!(left == -2 || (0..=3000).contains(&left), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_worker_has_no_timer_and_is_never_cleaned_up() {
    let fixture = Fixture::released().await;
    let permanent = Lifetime::Permanent;
    fixture.worqr.start_worker("w", permanent).await.unwrap();
    let expected = [
        "worqr:permanentWorkers set w",
        "worqr:windlass:workers set w",
        "worqr:workers set w",
    ];
    fixture.has_keys(None, &expected);
    assert!(fixture.worqr.keep_worker_alive("w", TIMEOUT).await.unwrap());
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned, WorqrCleanReport::default());
    fixture.has_keys(None, &expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keeping_alive_resets_the_timer_and_never_creates_one() {
    let fixture = Fixture::released().await;
    let hour = Duration::from_secs(3600);
    fixture.worqr.start_worker("w", LONG).await.unwrap();
    fixture.command("EXPIRE worqr:workerTimers:w 1000");
    assert!(fixture.worqr.keep_worker_alive("w", hour).await.unwrap());
    assert!(fixture.command("TTL worqr:workerTimers:w").integer() > 3000);

    fixture.command("DEL worqr:workerTimers:w");
    assert!(!fixture.worqr.keep_worker_alive("w", hour).await.unwrap());
    assert_eq!(fixture.command("EXISTS worqr:workerTimers:w").integer(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_records_the_queue_and_publishes_the_count() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worqr.start_worker("w", LONG).await.unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.start_work("w", "mail").await.unwrap(), 2);
    assert_eq!(fixture.worqr.start_work("w", "none").await.unwrap(), 0);
    let served = "worqr:workingQueues:w set mail,none".to_owned();
    assert!(fixture.keys().contains(&served), "{:?}", fixture.keys());
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn start_work_is_refused_to_a_worker_that_was_not_started() {
    let fixture = Fixture::released().await;
    let error = fixture.worqr.start_work("w", "mail").await.unwrap_err();
    assert_eq!(error.code(), "not_found");
    fixture.has_keys(None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_work_publishes_the_count_if_tasks_wait() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.request_work("mail").await.unwrap(), 2);
    assert_eq!(fixture.worqr.request_work("none").await.unwrap(), 0);
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_work_stops_serving_one_queue() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worqr.enqueue("post", "z").await.unwrap();
    fixture.worker("w", "mail").await;
    fixture.worqr.start_work("w", "post").await.unwrap();
    fixture.start("w", "mail").await;
    let at_post = fixture.start("w", "post").await;
    let mut subscriber = fixture.subscriber();
    assert_eq!(fixture.worqr.stop_work("w", "mail").await.unwrap(), 1);
    fixture.has_keys(
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
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_worker_removes_it_and_returns_its_tasks() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("w", "mail").await;
    fixture.start("w", "mail").await;
    let mut subscriber = fixture.subscriber();
    assert_eq!(
        fixture.worqr.fail_worker("w").await.unwrap(),
        WorkerFailure::Ended(1)
    );
    fixture.has_keys(None, &["worqr:queues:mail list b,a"]);
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);

    assert_eq!(
        fixture.worqr.fail_worker("w").await.unwrap(),
        WorkerFailure::Unknown
    );
    assert_eq!(subscriber.messages(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_fails_only_workers_whose_timer_ran_out() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    fixture.worker("dead", "mail").await;
    fixture.worker("w", "mail").await;
    fixture.start("dead", "mail").await;
    let process = fixture.start("w", "mail").await;
    fixture.command("DEL worqr:workerTimers:dead");
    let mut subscriber = fixture.subscriber();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(
        (cleaned.workers, cleaned.tasks),
        (vec!["dead".to_owned()], 1)
    );
    fixture.has_keys(
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
    assert_eq!(subscriber.messages(), ["worqr_mail_work 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_finds_every_dead_worker_among_many() {
    let fixture = Fixture::released().await;
    let fill = "for i = 1, 700 do \
                redis.call('SADD', 'worqr:workers', 'w' .. i) \
                redis.call('SADD', 'worqr:expiringWorkers', 'w' .. i) \
                if i % 2 == 0 then redis.call('SET', 'worqr:workerTimers:w' .. i, 'RUN') end \
                end return 1";
    fixture.redis.command(&["EVAL", fill, "0"]).ok();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.workers.len(), 350);
    assert_eq!(fixture.worqr.workers().await.unwrap().len(), 350);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_more_processes_than_one_script_call_returns_loses_none() {
    const MANY: u64 = 2300;
    let fixture = Fixture::released().await;
    fixture.worker("w", "mail").await;
    // The state after that many starts.
    let fill = format!(
        "for i = 1, {MANY} do local p = 'mail_' .. i \
         redis.call('LPUSH', 'worqr:processes:' .. p, i) \
         redis.call('SADD', 'worqr:workingProcesses:mail', p) \
         redis.call('ZADD', 'worqr:windlass:processes:w', i, p) end return 1"
    );
    fixture.redis.command(&["EVAL", &fill, "0"]).ok();
    assert_eq!(
        fixture.worqr.fail_worker("w").await.unwrap(),
        WorkerFailure::Ended(MANY)
    );
    assert_eq!(fixture.worqr.count("mail").await.unwrap(), MANY);
    assert_eq!(fixture.worqr.peek("mail").await.unwrap().unwrap(), "1");
    assert_eq!(fixture.keys().len(), 1, "{:?}", fixture.keys());
}
