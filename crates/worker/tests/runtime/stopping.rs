//! How a worker stops: what it finishes, what it releases, how long it takes.

use std::time::{Duration, Instant};

use windlass_core::store::WorkerState;
use windlass_core::{Change, JobState, Mode, NewJob, Target};
use windlass_worker::{AttemptContext, Outcome, StopReason};

use crate::fixture::{Count, Fixture, SOON, never_returns, text};

#[tokio::test]
async fn a_stopping_worker_finishes_what_it_runs_and_leaves() {
    let fixture = Fixture::new();
    let brief = |_: AttemptContext| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Outcome::done()
    };
    let (id, worker) = fixture.start_with_job(fixture.options(), brief).await;

    let summary = worker.stop().await;

    assert_eq!(summary.succeeded, 1);
    assert_eq!(fixture.get(&id).await.state, JobState::Succeeded);
    assert!(fixture.store.workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_worker_that_finishes_its_jobs_is_listed_as_draining() {
    let fixture = Fixture::new();
    let never = |_: AttemptContext| never_returns();
    let (_, worker) = fixture.start_with_job(fixture.options(), never).await;

    worker.stopper.stop();

    let draining = async {
        while fixture.store.workers().await.unwrap()[0].state() != WorkerState::Draining {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(SOON, draining).await.unwrap();
    worker.stopper.stop_now();
    worker.ended().await.unwrap();
}

#[tokio::test]
async fn a_job_that_does_not_end_within_the_grace_period_is_released_with_no_attempt_counted() {
    let fixture = Fixture::new();
    let mut options = fixture.options();
    options.grace = Duration::from_millis(300);
    let (id, worker) = fixture
        .start_with_job(options, |_: AttemptContext| never_returns())
        .await;
    let began = Instant::now();

    let summary = worker.stop().await;

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let job = fixture.get(&id).await;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!(summary.released, 1);
}

#[tokio::test]
async fn a_handler_that_watches_for_cancellation_is_asked_before_the_grace_period_ends_and_its_error_counts_no_attempt()
 {
    let fixture = Fixture::new();
    let mut options = fixture.options();
    // It is asked after half of it, and has five seconds to return.
    options.grace = Duration::from_secs(10);
    let listen = |context: AttemptContext| async move {
        assert_eq!(context.stopped().await, StopReason::Leaving);
        Outcome::failed("cut short")
    };
    let (id, worker) = fixture.start_with_job(options, listen).await;

    let summary = worker.stop().await;

    let job = fixture.get(&id).await;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    assert_eq!((summary.released, summary.failed), (1, 0));
}

#[tokio::test]
async fn a_second_request_to_stop_releases_everything_now() {
    let fixture = Fixture::new();
    let never = |_: AttemptContext| never_returns();
    let (id, worker) = fixture.start_with_job(fixture.options(), never).await;
    let began = Instant::now();

    worker.stopper.stop();
    worker.stopper.stop_now();
    worker.ended().await.unwrap();

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(fixture.get(&id).await.state, JobState::Ready);
}

#[tokio::test]
async fn an_idle_worker_stops_at_once() {
    let fixture = Fixture::new();
    let mut took = Duration::ZERO;
    for _ in 0..40 {
        let worker = fixture.start(fixture.options(), |_: AttemptContext| never_returns());
        // Registered: it waits for jobs.
        while fixture.store.workers().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let began = Instant::now();

        worker.stop().await;

        took += began.elapsed();
    }

    // Polling would take at least 18 s for 40 workers.
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn a_burst_ends_when_the_queue_is_drained() {
    let fixture = Fixture::new();
    let mut jobs: Vec<_> = (0..20).map(|_| NewJob::new("x")).collect();
    jobs.push(NewJob::new("x").delay(Duration::from_millis(300)));
    fixture.enqueue_jobs(jobs).await;
    let mut options = fixture.options();
    options.is_burst = true;

    let worker = fixture.start(options, |_: AttemptContext| {
        std::future::ready(Outcome::done())
    });

    assert_eq!(worker.ended().await.unwrap().succeeded, 21);
}

#[tokio::test]
async fn a_job_claimed_at_most_once_is_asked_to_stop_as_well_and_never_runs_again() {
    let fixture = Fixture::new();
    let asked = Count::new();
    let mut options = fixture.options();
    options.mode = Mode::AtMostOnce;
    // It is asked after half of it, and has five seconds to return.
    options.grace = Duration::from_secs(10);
    let listen = {
        let asked = asked.clone();
        move |context: AttemptContext| {
            let asked = asked.clone();
            async move {
                assert_eq!(context.stopped().await, StopReason::Leaving);
                asked.add();
                never_returns().await
            }
        }
    };
    let (_, worker) = fixture.start_with_job(options, listen).await;

    worker.stopper.stop();
    asked.reaches(1).await;
    let summary = worker.ended().await.unwrap();

    assert_eq!(asked.get(), 1);
    assert_eq!(summary.failed, 1);
    let stats = fixture.store.stats(&fixture.queue).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.running), (0, 0));
}

#[tokio::test]
async fn a_worker_with_an_unlimited_grace_period_waits_for_its_jobs_and_leaves() {
    let fixture = Fixture::new();
    let mut options = fixture.options();
    options.grace = Duration::MAX;
    options.stop_wait = Duration::MAX;
    let asked = Count::new();
    let listen = {
        let asked = asked.clone();
        move |context: AttemptContext| {
            let asked = asked.clone();
            async move {
                let stop = context.cancellation();
                asked.add();
                stop.cancelled().await;
                asked.add();
                // The worker stops only now, within both the stop wait and the grace period.
                asked.reaches(3).await;
                Outcome::done()
            }
        }
    };
    let (id, worker) = fixture.start_with_job(options, listen).await;
    asked.reaches(1).await;
    let target = Target::Ids(vec![id]);
    fixture
        .store
        .change(&fixture.queue, Change::Cancel, &target, None)
        .await
        .unwrap();
    asked.reaches(2).await;

    worker.stopper.stop();
    asked.add();
    let summary = worker.ended().await.unwrap();

    assert_eq!(summary.succeeded, 1);
    assert!(fixture.store.workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn jobs_that_a_stop_interrupts_return_in_claim_order_however_their_handlers_end() {
    let fixture = Fixture::new();
    let mut options = fixture.options();
    options.concurrency = 3;
    options.prefetch = 2;
    // They are asked after half of it, and have five seconds to return.
    options.grace = Duration::from_secs(10);
    let asked = Count::new();
    fixture.enqueue(&["0", "1", "2", "3", "4", "5"]).await;
    let worker = fixture.start(options, {
        let asked = asked.clone();
        move |context: AttemptContext| {
            let asked = asked.clone();
            async move {
                let stop = context.cancellation();
                asked.add();
                stop.cancelled().await;
                // The first returns first.
                let cleanup = text(&context).parse::<u32>().unwrap() * Duration::from_millis(100);
                tokio::time::sleep(cleanup).await;
                Outcome::failed("cut short")
            }
        }
    });
    asked.reaches(3).await;
    fixture.until_running(5).await;

    let summary = worker.stop().await;

    assert_eq!(summary.released, 5);
    assert_eq!(fixture.claim_all().await, ["0", "1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn more_jobs_than_one_claim_holds_return_in_claim_order() {
    for grace in [Duration::ZERO, Duration::from_secs(1)] {
        let fixture = Fixture::new();
        let mut options = fixture.options();
        options.concurrency = 150;
        options.prefetch = 250;
        options.grace = grace;
        let payloads: Vec<_> = (0..450).map(|number| number.to_string()).collect();
        let jobs = payloads.iter().map(|payload| NewJob::new(payload.clone()));
        fixture.enqueue_jobs(jobs.collect()).await;
        let worker = fixture.start(options, |_: AttemptContext| never_returns());
        fixture.until_running(400).await;

        let summary = worker.stop().await;

        assert_eq!(summary.released, 400);
        assert_eq!(fixture.claim_all().await, payloads);
    }
}
