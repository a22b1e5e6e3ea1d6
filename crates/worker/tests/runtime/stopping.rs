//! How a worker ends: what is finished, what goes back, how long it takes.

use std::time::{Duration, Instant};

use windlass_core::{JobState, Mode, NewJob, Target};
use windlass_worker::{Context, Outcome, StopReason};

use crate::scene::{Count, SOON, Scene, for_ever};

#[tokio::test]
async fn a_stopping_worker_finishes_what_it_runs_and_leaves() {
    let scene = Scene::new();
    let nap = |_: Context| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Outcome::done()
    };
    let (id, worker) = scene.at_work(scene.options(), nap).await;

    let summary = worker.stop().await;

    assert_eq!(summary.succeeded, 1);
    assert_eq!(scene.get(&id).await.state, JobState::Succeeded);
    assert!(scene.store.workers().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_does_not_end_within_the_grace_goes_back_with_no_attempt_counted() {
    let scene = Scene::new();
    let mut options = scene.options();
    options.grace = Duration::from_millis(300);
    let (id, worker) = scene.at_work(options, |_: Context| for_ever()).await;
    let began = Instant::now();

    let summary = worker.stop().await;

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let job = scene.get(&id).await;
    assert_eq!(
        (job.state, job.attempt, job.expiries),
        (JobState::Ready, 1, 0)
    );
    assert_eq!(summary.released, 1);
}

#[tokio::test]
async fn a_handler_that_listens_is_asked_before_the_grace_ends_and_its_error_counts_no_attempt() {
    let scene = Scene::new();
    let mut options = scene.options();
    // It is asked half way, and has five seconds to listen.
    options.grace = Duration::from_secs(10);
    let listen = |context: Context| async move {
        assert_eq!(context.stopped().await, StopReason::Leaving);
        Outcome::failed("cut short")
    };
    let (id, worker) = scene.at_work(options, listen).await;

    let summary = worker.stop().await;

    let job = scene.get(&id).await;
    assert_eq!((job.state, job.attempt), (JobState::Ready, 1));
    assert_eq!((summary.released, summary.failed), (1, 0));
}

#[tokio::test]
async fn a_second_request_to_stop_gives_everything_back_now() {
    let scene = Scene::new();
    let never = |_: Context| for_ever();
    let (id, worker) = scene.at_work(scene.options(), never).await;
    let began = Instant::now();

    worker.stopper.stop();
    worker.stopper.stop_now();
    worker.ended().await.unwrap();

    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(scene.get(&id).await.state, JobState::Ready);
}

#[tokio::test]
async fn an_idle_worker_stops_at_once() {
    let scene = Scene::new();
    let mut took = Duration::ZERO;
    for _ in 0..40 {
        let worker = scene.start(scene.options(), |_: Context| for_ever());
        // Registered: it is up and waits for jobs.
        while scene.store.workers().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let began = Instant::now();

        worker.stop().await;

        took += began.elapsed();
    }

    // Forty polls would take eighteen seconds at least.
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn a_burst_ends_when_the_queue_is_drained() {
    let scene = Scene::new();
    let mut jobs: Vec<_> = (0..20).map(|_| NewJob::new("x")).collect();
    jobs.push(NewJob::new("x").delay(Duration::from_millis(300)));
    scene.enqueue_jobs(jobs).await;
    let mut options = scene.options();
    options.is_burst = true;

    let worker = scene.start(options, |_: Context| std::future::ready(Outcome::done()));

    assert_eq!(worker.ended().await.unwrap().succeeded, 21);
}

#[tokio::test]
async fn a_job_claimed_at_most_once_is_asked_to_stop_as_well_and_never_runs_again() {
    let scene = Scene::new();
    let told = Count::new();
    let mut options = scene.options();
    options.mode = Mode::AtMostOnce;
    // It is asked half way, and has five seconds to listen.
    options.grace = Duration::from_secs(10);
    let listen = {
        let told = told.clone();
        move |context: Context| {
            let told = told.clone();
            async move {
                assert_eq!(context.stopped().await, StopReason::Leaving);
                told.add();
                for_ever().await
            }
        }
    };
    let (_, worker) = scene.at_work(options, listen).await;

    worker.stopper.stop();
    told.reaches(1).await;
    let summary = worker.ended().await.unwrap();

    assert_eq!(told.get(), 1);
    assert_eq!(summary.failed, 1);
    let stats = scene.store.stats(&scene.queue).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.running), (0, 0));
}

#[tokio::test]
async fn a_worker_with_all_the_time_in_the_world_waits_for_its_jobs_and_leaves() {
    let scene = Scene::new();
    let mut options = scene.options();
    options.grace = Duration::MAX;
    options.stop_wait = Duration::MAX;
    let told = Count::new();
    let listen = {
        let told = told.clone();
        move |context: Context| {
            let told = told.clone();
            async move {
                let stop = context.cancellation();
                told.add();
                stop.cancelled().await;
                told.add();
                // The worker stops only now, with the wait and the grace both running.
                told.reaches(3).await;
                Outcome::done()
            }
        }
    };
    let (id, worker) = scene.at_work(options, listen).await;
    told.reaches(1).await;
    let target = Target::Ids(vec![id]);
    scene
        .store
        .cancel(&scene.queue, &target, None)
        .await
        .unwrap();
    told.reaches(2).await;

    worker.stopper.stop();
    told.add();
    let summary = worker.ended().await.unwrap();

    assert_eq!(summary.succeeded, 1);
    assert!(scene.store.workers().await.unwrap().is_empty());
}
