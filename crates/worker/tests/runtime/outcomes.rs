//! Every way an attempt can end, without affecting other jobs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::store::{GroupName, Reason};
use windlass_core::{Change, Due, JobState, LeaseTime, NewJob, RetryPolicy, Store, Target};
use windlass_worker::{AttemptContext, Outcome, RetryWhen, StopReason};

use crate::faulty_store::{FailureMode, FaultyStore};
use crate::fixture::{Count, Fixture, SOON, never_returns, text};

async fn by_payload(context: AttemptContext) -> Outcome {
    match text(&context).as_str() {
        "result" => Outcome::Done(Some("42".into())),
        "fail" => Outcome::failed("it broke"),
        "permanent" => Outcome::permanent("it never works"),
        "later" => Outcome::Failed {
            error: "again later".to_owned(),
            retry: RetryWhen::At(Due::After(Duration::from_secs(3600))),
        },
        "snooze_group" => Outcome::snooze_group(Due::After(Duration::from_secs(3600))),
        "snooze" => Outcome::snooze(Duration::from_secs(3600)),
        "panic" => panic!("boom"),
        "huge" => Outcome::Done(Some(vec![b'x'; 10 * 1024 * 1024].into())),
        "log" => {
            context.log("about to fail");
            Outcome::failed("it broke")
        }
        "never" => never_returns().await,
        _ => Outcome::done(),
    }
}

#[tokio::test]
async fn each_outcome_is_stored_as_returned() {
    let fixture = Fixture::new();
    let payloads = [
        "result",
        "permanent",
        "later",
        "snooze",
        "panic",
        "huge",
        "log",
        "plain",
    ];
    let ids = fixture.enqueue(&payloads).await;
    let worker = fixture.start(fixture.options(), by_payload);

    let result = fixture.until_state(&ids[0], JobState::Succeeded).await;
    let permanent = fixture.until_state(&ids[1], JobState::Dead).await;
    let later = fixture.until_state(&ids[2], JobState::Scheduled).await;
    let snooze = fixture.until_state(&ids[3], JobState::Scheduled).await;
    let panicked = fixture.until(&ids[4], |job| job.error.is_some()).await;
    let huge = fixture.until_state(&ids[5], JobState::Dead).await;
    let logged = fixture.until(&ids[6], |job| job.error.is_some()).await;
    fixture.until_state(&ids[7], JobState::Succeeded).await;
    worker.stop().await;

    assert_eq!(result.result.unwrap(), "42");
    assert_eq!(permanent.reason, Some(Reason::Permanent));
    assert_eq!(
        (later.attempt, later.error.as_deref()),
        (2, Some("again later"))
    );
    assert_eq!((snooze.attempt, snooze.error), (1, None));
    assert_eq!(panicked.error.unwrap(), "the handler panicked: boom");
    let huge = huge.error.unwrap();
    assert!(
        huge.starts_with("the result is too large: 10485760 bytes, the limit is "),
        "{huge}"
    );
    assert_eq!(
        logged.error.unwrap(),
        "it broke\nlast log lines:\nabout to fail"
    );
}

#[tokio::test]
async fn a_handler_that_snoozes_its_group_stops_the_group_and_no_other() {
    let fixture = Fixture::new();
    let job = |payload: &'static str, group: &str| {
        let group = GroupName::new(group).unwrap();
        NewJob::new(payload).group(group).keep_outcome()
    };
    let jobs = vec![
        job("snooze_group", "acme"),
        job("plain", "acme"),
        job("plain", "globex"),
    ];
    let ids = fixture.enqueue_jobs(jobs).await;
    let mut options = fixture.options();
    options.concurrency = 1;
    let worker = fixture.start(options, by_payload);

    fixture.until_state(&ids[2], JobState::Succeeded).await;
    let summary = worker.stop().await;

    let (snoozed, behind) = (fixture.get(&ids[0]).await, fixture.get(&ids[1]).await);
    assert_eq!((snoozed.state, snoozed.attempt), (JobState::Ready, 1));
    assert_eq!(behind.state, JobState::Ready);
    assert_eq!((summary.snoozed, summary.succeeded), (1, 1));
}

#[tokio::test]
async fn a_handler_that_never_returns_is_dropped_at_its_timeout_and_its_slot_is_free() {
    let fixture = Fixture::new();
    let retry = RetryPolicy::never();
    let stuck = NewJob::new("never")
        .timeout(Duration::from_millis(50))
        .retry(retry)
        .keep_outcome();
    let stuck = fixture.enqueue_jobs(vec![stuck]).await;
    let mut options = fixture.options();
    options.concurrency = 1;
    let worker = fixture.start(options, by_payload);

    let dead = fixture.until_state(&stuck[0], JobState::Dead).await;
    let next = fixture.enqueue(&["plain"]).await;
    fixture.until_state(&next[0], JobState::Succeeded).await;
    worker.stop().await;

    assert_eq!(dead.error.unwrap(), "the attempt timed out after 50ms");
    assert_eq!(dead.reason, Some(Reason::Exhausted));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_is_failed_at_its_timeout_all_the_same() {
    let fixture = Fixture::new();
    let job = NewJob::new("block")
        .timeout(Duration::from_millis(50))
        .retry(RetryPolicy::never());
    let ids = fixture.enqueue_jobs(vec![job]).await;
    let (unblock, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let worker = fixture.start(fixture.options(), move |_: AttemptContext| {
        // Not async: it blocks its thread until the test unblocks it.
        let _ = blocked.lock().unwrap().recv();
        std::future::ready(Outcome::done())
    });

    let dead = fixture.until_state(&ids[0], JobState::Dead).await;
    unblock.send(()).unwrap();
    let summary = worker.stop().await;

    assert_eq!(dead.error.unwrap(), "the attempt timed out after 50ms");
    assert_eq!(
        (summary.dead, summary.succeeded),
        (1, 0),
        "the late outcome changes nothing"
    );
}

#[tokio::test]
async fn a_cancelled_job_is_dropped_at_once_when_its_handler_does_not_watch_for_cancellation() {
    let fixture = Fixture::new();
    let ids = fixture.enqueue(&["never"]).await;
    let worker = fixture.start(fixture.options(), by_payload);
    fixture.until_state(&ids[0], JobState::Running).await;

    fixture
        .store
        .change(
            &fixture.queue,
            Change::Cancel,
            &Target::Ids(vec![ids[0].clone()]),
            None,
        )
        .await
        .unwrap();

    fixture.until_state(&ids[0], JobState::Cancelled).await;
    assert_eq!(worker.stop().await.cancelled, 1);
}

#[tokio::test]
async fn a_cancellation_before_the_worker_watches_is_not_missed() {
    let store = Arc::new(FaultyStore::new());
    store.plan("watch_cancels", FailureMode::StaysUnreachable);
    let fixture = Fixture::on(Arc::clone(&store) as Arc<dyn Store>);
    let mut options = fixture.options();
    // No regular renewal reports it.
    options.lease = LeaseTime::nearest(Duration::from_secs(24 * 3600));
    let (id, worker) = fixture.start_with_job(options, |_| never_returns()).await;
    let target = Target::Ids(vec![id.clone()]);
    fixture
        .store
        .change(&fixture.queue, Change::Cancel, &target, None)
        .await
        .unwrap();

    store.restore("watch_cancels");

    fixture.until_state(&id, JobState::Cancelled).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_handler_that_watches_for_cancellation_sees_why_and_its_completion_still_wins() {
    let fixture = Fixture::new();
    let ids = fixture.enqueue(&["listen"]).await;
    let began = Count::new();
    let worker = fixture.start(fixture.options(), {
        let began = began.clone();
        move |context: AttemptContext| {
            let began = began.clone();
            async move {
                let stop = context.cancellation();
                began.add();
                stop.cancelled().await;
                assert_eq!(context.stop_reason(), Some(StopReason::Cancelled));
                Outcome::Done(Some("nearly there".into()))
            }
        }
    });
    began.reaches(1).await;

    fixture
        .store
        .change(
            &fixture.queue,
            Change::Cancel,
            &Target::Ids(vec![ids[0].clone()]),
            None,
        )
        .await
        .unwrap();

    let job = fixture.until_state(&ids[0], JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!(job.result.unwrap(), "nearly there");
}

#[tokio::test]
async fn a_failing_job_is_tried_again_and_its_attempts_run_out() {
    let fixture = Fixture::new();
    let retry = RetryPolicy::fixed(Duration::ZERO).max_attempts(3);
    let ids = fixture
        .enqueue_jobs(vec![NewJob::new("fail").retry(retry)])
        .await;
    let worker = fixture.start(fixture.options(), by_payload);

    let dead = fixture.until_state(&ids[0], JobState::Dead).await;
    let summary = worker.stop().await;

    assert_eq!(dead.reason, Some(Reason::Exhausted));
    assert_eq!((summary.failed, summary.dead), (2, 1));
}

#[tokio::test]
async fn an_idle_worker_starts_a_new_job_at_once() {
    let fixture = Fixture::new();
    let worker = fixture.start(fixture.options(), by_payload);
    let first = fixture.enqueue(&["plain"]).await;
    fixture.until_state(&first[0], JobState::Succeeded).await;
    let began = Instant::now();

    for _ in 0..40 {
        let ids = fixture.enqueue(&["plain"]).await;
        fixture.until_state(&ids[0], JobState::Succeeded).await;
    }

    // Polling would take at least 18 s for 40 jobs.
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    worker.stop().await;
}
