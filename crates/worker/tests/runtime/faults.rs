//! What a worker does when calls go wrong: nothing stays behind, and nobody goes on deaf.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{ErrorKind, JobState, NewJob, Target};
use windlass_worker::{Context, Outcome, StopReason};

use crate::faulty::{Fault, Faulty};
use crate::scene::{Count, PATIENCE, Scene, for_ever, text};

/// A lease so long that nothing here is renewed, or taken back, because time has passed.
const HOUR: Duration = Duration::from_secs(3600);

fn faulty() -> (Arc<Faulty>, Scene) {
    let store = Arc::new(Faulty::new());
    let scene = Scene::on(Arc::clone(&store) as Arc<_>);
    (store, scene)
}

/// Gives the worker one short job after the other, so that its lease never ends while it mostly has
/// nothing to do, until `count` has come.
async fn feed_until(scene: &Scene, count: &Count, least: u64) {
    let fed = async {
        while count.get() < least {
            let ids = scene.enqueue(&["short"]).await;
            scene.until_state(&ids[0], JobState::Succeeded).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let fed = tokio::time::timeout(PATIENCE, fed).await;
    assert!(fed.is_ok(), "{} of {least} came", count.get());
}

#[tokio::test]
async fn a_claim_that_had_to_be_repeated_is_renewed_at_once() {
    let (store, scene) = faulty();
    let mut options = scene.options();
    options.lease = HOUR;
    store.plan("claim", Fault::Away);

    let (_, worker) = scene.at_work(options, |_: Context| for_ever()).await;

    store.tap.renewals.reaches(1).await;
    worker.stopper.stop_now();
    worker.ended().await.unwrap();
}

#[tokio::test]
async fn more_cancelled_jobs_than_one_renewal_names_are_all_told_at_once() {
    let (store, scene) = faulty();
    let jobs = (0..350).map(|_| NewJob::new("x").keep_outcome()).collect();
    let ids = scene.enqueue_jobs(jobs).await;
    let started = Count::new();
    let mut options = scene.options();
    options.lease = HOUR;
    options.concurrency = ids.len();
    let worker = scene.start(options, {
        let started = started.clone();
        move |_: Context| {
            started.add();
            for_ever()
        }
    });
    started.reaches(350).await;
    let all = Target::Ids(ids.clone());
    scene.store.cancel(&scene.queue, &all, None).await.unwrap();

    store.hint(&scene.queue, &ids[0]).await;

    for id in &ids {
        scene.until_state(id, JobState::Cancelled).await;
    }
    assert_eq!(worker.stop().await.cancelled, 350);
}

#[tokio::test]
async fn a_job_whose_outcome_was_refused_comes_back_though_its_worker_goes_on() {
    let (store, scene) = faulty();
    let failures = Count::new();
    let mut options = scene.options();
    options.lease = Duration::from_secs(3);
    store.plan("fail", Fault::Refuse);
    scene.enqueue(&["broken"]).await;

    let worker = scene.start(options, {
        let failures = failures.clone();
        move |context: Context| {
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

    feed_until(&scene, &failures, 2).await;
    worker.stop().await;
}

#[tokio::test]
async fn jobs_whose_lease_was_not_trusted_any_more_all_come_back_though_their_worker_goes_on() {
    const JOBS: u64 = 250;
    let (store, scene) = faulty();
    let jobs = (0..JOBS).map(|_| NewJob::new("long")).collect();
    scene.enqueue_jobs(jobs).await;
    let (started, lost) = (Count::new(), Count::new());
    let mut options = scene.options();
    // It ends a second after it is trusted no more: time to claim once more.
    options.lease = Duration::from_secs(6);
    options.concurrency = 300;
    store.plan("renew", Fault::StaysAway);
    let worker = scene.start(options, {
        let (started, lost) = (started.clone(), lost.clone());
        move |context: Context| {
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
    let short = scene.enqueue(&["short"]).await;
    scene.until_state(&short[0], JobState::Succeeded).await;
    store.mend("renew");

    feed_until(&scene, &started, 2 * JOBS).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_that_can_claim_no_more_ends_and_says_so() {
    let (store, scene) = faulty();
    store.plan("claim", Fault::Panic);

    let worker = scene.start(scene.options(), |_: Context| for_ever());

    let fault = worker.ended().await.unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Internal);
}

#[tokio::test]
async fn a_worker_that_can_settle_no_more_ends_and_says_so() {
    let (store, scene) = faulty();
    let mut options = scene.options();
    options.grace = Duration::ZERO;
    store.plan("fail", Fault::Panic);
    scene.enqueue(&["x"]).await;

    let worker = scene.start(options, |_: Context| {
        std::future::ready(Outcome::permanent("it never works"))
    });

    let fault = worker.ended().await.unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::Internal);
}
