//! What a worker does when store calls fail: no job is left behind, and a broken worker stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use windlass_core::{Change, ErrorKind, JobState, LeaseTime, NewJob, Target};
use windlass_worker::{AttemptContext, Outcome, StopReason};

use crate::faulty_store::{FailureMode, FaultyStore};
use crate::fixture::{Count, Fixture, TIMEOUT, never_returns, text};

/// A lease so long that nothing here is renewed, or expires, because of time.
const HOUR: Duration = Duration::from_secs(3600);

fn faulty() -> (Arc<FaultyStore>, Fixture) {
    let store = Arc::new(FaultyStore::new());
    let fixture = Fixture::on(Arc::clone(&store) as Arc<_>);
    (store, fixture)
}

/// Runs one short job after the other, so that the lease of a mostly idle worker never expires,
/// until `count` reaches `least`.
async fn feed_until(fixture: &Fixture, count: &Count, least: u64) {
    let fed = async {
        while count.get() < least {
            let ids = fixture.enqueue(&["short"]).await;
            fixture.until_state(&ids[0], JobState::Succeeded).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let fed = tokio::time::timeout(TIMEOUT, fed).await;
    assert!(fed.is_ok(), "{} of {least} came", count.get());
}

#[tokio::test]
async fn a_claim_that_had_to_be_repeated_is_renewed_at_once() {
    let (store, fixture) = faulty();
    let mut options = fixture.options();
    options.lease = LeaseTime::nearest(HOUR);
    store.plan("claim", FailureMode::Unreachable);

    let (_, worker) = fixture
        .start_with_job(options, |_: AttemptContext| never_returns())
        .await;

    store.tap.renewals.reaches(1).await;
    worker.stopper.stop_now();
    worker.ended().await.unwrap();
}

#[tokio::test]
async fn a_slot_is_free_only_when_the_failure_of_its_job_is_stored() {
    let (store, fixture) = faulty();
    store.plan("fail", FailureMode::Unreachable);
    let ids = fixture.enqueue(&["fails", "next"]).await;
    let mut options = fixture.options();
    options.concurrency = 1;
    let (failing, queue) = (ids[0].clone(), fixture.queue.clone());
    let worker = fixture.start(options, move |context: AttemptContext| {
        let (failing, queue) = (failing.clone(), queue.clone());
        async move {
            if context.job().id == failing {
                return Outcome::permanent("no ink");
            }
            let failed = context.store().get(&queue, &failing).await.unwrap();
            Outcome::Done(Some(failed.unwrap().state.as_str().into()))
        }
    });

    fixture.until_state(&ids[1], JobState::Succeeded).await;

    assert_eq!(fixture.get(&ids[1]).await.result.unwrap(), "dead");
    worker.stop().await;
}

#[tokio::test]
async fn more_cancelled_jobs_than_one_renewal_names_are_all_stopped_at_once() {
    let (store, fixture) = faulty();
    let jobs = (0..350).map(|_| NewJob::new("x").keep_outcome()).collect();
    let ids = fixture.enqueue_jobs(jobs).await;
    let started = Count::new();
    let mut options = fixture.options();
    options.lease = LeaseTime::nearest(HOUR);
    options.concurrency = ids.len();
    let worker = fixture.start(options, {
        let started = started.clone();
        move |_: AttemptContext| {
            started.add();
            never_returns()
        }
    });
    started.reaches(350).await;
    let all = Target::Ids(ids.clone());
    fixture
        .store
        .change(&fixture.queue, Change::Cancel, &all, None)
        .await
        .unwrap();

    store.notify_cancelled(&fixture.queue, &ids[0]).await;

    for id in &ids {
        fixture.until_state(id, JobState::Cancelled).await;
    }
    assert_eq!(worker.stop().await.cancelled, 350);
}

#[tokio::test]
async fn a_job_whose_outcome_was_rejected_is_requeued_while_its_worker_continues() {
    let (store, fixture) = faulty();
    let failures = Count::new();
    let mut options = fixture.options();
    options.lease = LeaseTime::nearest(Duration::from_secs(3));
    store.plan("fail", FailureMode::Refuse);
    fixture.enqueue(&["broken"]).await;

    let worker = fixture.start(options, {
        let failures = failures.clone();
        move |context: AttemptContext| {
            let is_broken = text(&context) == "broken";
            if is_broken {
                failures.add();
            }
            std::future::ready(if is_broken {
                Outcome::permanent("it never works")
            } else {
                Outcome::done()
            })
        }
    });

    feed_until(&fixture, &failures, 2).await;
    worker.stop().await;
}

#[tokio::test]
async fn jobs_whose_lease_expired_locally_are_all_requeued_while_their_worker_continues() {
    const JOBS: u64 = 250;
    let (store, fixture) = faulty();
    let jobs = (0..JOBS).map(|_| NewJob::new("long")).collect();
    fixture.enqueue_jobs(jobs).await;
    let (started, lost) = (Count::new(), Count::new());
    let mut options = fixture.options();
    // It expires one second after it expired locally: time to claim once more.
    options.lease = LeaseTime::nearest(Duration::from_secs(6));
    options.concurrency = 300;
    store.plan("renew", FailureMode::StaysUnreachable);
    let worker = fixture.start(options, {
        let (started, lost) = (started.clone(), lost.clone());
        move |context: AttemptContext| {
            let (started, lost) = (started.clone(), lost.clone());
            async move {
                if text(&context) == "long" {
                    started.add();
                    if started.get() <= JOBS {
                        assert_eq!(context.stopped().await, StopReason::LeaseLost);
                        lost.add();
                    }
                }
                Outcome::done()
            }
        }
    });

    lost.reaches(1).await;
    let short = fixture.enqueue(&["short"]).await;
    fixture.until_state(&short[0], JobState::Succeeded).await;
    // Claims that were made later expire later.
    lost.reaches(JOBS).await;
    store.restore("renew");

    feed_until(&fixture, &started, 2 * JOBS).await;
    worker.stop().await;
}

/// They are stopped when their lease expires locally, not by the first reply; the others outlive it.
#[tokio::test]
async fn only_the_jobs_in_the_part_of_a_queue_that_cannot_be_reached_are_stopped() {
    let (store, fixture) = faulty();
    let (lost, go_on) = (Count::new(), Arc::new(Notify::new()));
    let (sender, mut tokens) = mpsc::unbounded_channel();
    let mut options = fixture.options();
    // A renewal that reached only a part is repeated twice a second.
    options.lease = LeaseTime::nearest(Duration::from_secs(6));
    let worker = fixture.start(options, {
        let (lost, go_on) = (lost.clone(), Arc::clone(&go_on));
        move |context: AttemptContext| {
            let (sender, lost, go_on) = (sender.clone(), lost.clone(), Arc::clone(&go_on));
            async move {
                sender.send(context.token()).unwrap();
                tokio::select! {
                    why = context.stopped() => {
                        assert_eq!(why, StopReason::LeaseLost);
                        lost.add();
                    }
                    () = go_on.notified() => {}
                }
                Outcome::done()
            }
        }
    });
    fixture.enqueue(&["unreached"]).await;
    store.cut_off(tokens.recv().await.unwrap());
    let reached = fixture.enqueue(&["reached"]).await;
    tokens.recv().await.unwrap();

    lost.reaches(1).await;

    let renewals = store.tap.renewals.get();
    assert!(renewals >= 2, "stopped after {renewals} renewals");
    // Half a second each, at least: longer than a lease.
    store.tap.renewals.reaches(renewals + 13).await;
    assert_eq!(fixture.get(&reached[0]).await.state, JobState::Running);
    go_on.notify_waiters();
    let job = fixture.until_state(&reached[0], JobState::Succeeded).await;
    assert_eq!((lost.get(), job.attempt, job.expiries), (1, 1, 0));
    worker.stopper.stop_now();
    worker.ended().await.unwrap();
}

#[tokio::test]
async fn a_worker_that_cannot_claim_any_more_stops_with_an_error() {
    let (store, fixture) = faulty();
    store.plan("claim", FailureMode::Panic);

    let worker = fixture.start(fixture.options(), |_: AttemptContext| never_returns());

    let error = worker.ended().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[tokio::test]
async fn a_worker_that_cannot_report_outcomes_any_more_stops_with_an_error() {
    let (store, fixture) = faulty();
    let mut options = fixture.options();
    options.grace = Duration::ZERO;
    store.plan("fail", FailureMode::Panic);
    fixture.enqueue(&["x"]).await;

    let worker = fixture.start(options, |_: AttemptContext| {
        std::future::ready(Outcome::permanent("it never works"))
    });

    let error = worker.ended().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}
