//! How many jobs are held, for how long, and by whom.

use std::time::Duration;

use windlass_core::{ClaimRequest, JobState, NewJob, WorkerCommand};
use windlass_worker::{Context, Outcome};

use crate::scene::{Count, PATIENCE, Scene, for_ever};

#[tokio::test]
async fn never_more_jobs_run_at_once_than_said() {
    let scene = Scene::new();
    let jobs = (0..200).map(|_| NewJob::new("x")).collect();
    scene.enqueue_jobs(jobs).await;
    let (running, done) = (Count::new(), Count::new());
    let mut options = scene.options();
    options.concurrency = 3;
    let worker = scene.start(options, {
        let (running, done) = (running.clone(), done.clone());
        move |_: Context| {
            let (running, done) = (running.clone(), done.clone());
            async move {
                running.add();
                assert!(running.get() <= 3);
                tokio::task::yield_now().await;
                running.remove();
                done.add();
                Outcome::done()
            }
        }
    });

    done.reaches(200).await;

    assert_eq!(worker.stop().await.succeeded, 200);
}

#[tokio::test]
async fn no_more_jobs_are_held_than_slots_and_prefetch() {
    let scene = Scene::new();
    scene
        .enqueue_jobs((0..50).map(|_| NewJob::new("x")).collect())
        .await;
    let started = Count::new();
    let mut options = scene.options();
    options.concurrency = 4;
    options.prefetch = 2;
    options.grace = Duration::ZERO;
    let worker = scene.start(options, {
        let started = started.clone();
        move |_: Context| {
            started.add();
            for_ever()
        }
    });
    started.reaches(4).await;

    let stats = scene.store.stats(&scene.queue).await.unwrap().unwrap();
    let running = stats.running;
    let summary = worker.stop().await;
    let after = scene.store.stats(&scene.queue).await.unwrap().unwrap();

    assert_eq!(running, 6);
    assert_eq!(started.get(), 4);
    assert_eq!(summary.released, 6);
    assert_eq!((after.ready, after.running), (50, 0));
}

#[tokio::test]
async fn a_long_job_is_held_for_many_leases() {
    let scene = Scene::new();
    let mut options = scene.options();
    // Renewed every two seconds, it outlives a machine that stands still for three.
    options.lease = Duration::from_secs(6);
    let ids = scene.enqueue(&["long"]).await;
    let worker = scene.start(options, |context: Context| async move {
        tokio::time::sleep(Duration::from_secs(15)).await;
        assert!(context.lease_valid());
        Outcome::done()
    });
    scene.until_state(&ids[0], JobState::Running).await;

    // Somebody else keeps asking, which reaps whatever has expired.
    let mut stolen = 0;
    while stolen == 0 && scene.get(&ids[0]).await.state == JobState::Running {
        let claim = scene
            .store
            .claim(&scene.queue, ClaimRequest::single(1))
            .await
            .unwrap();
        stolen += claim.map_or(0, |claim| claim.jobs.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    assert_eq!(stolen, 0);
    assert_eq!(worker.stop().await.succeeded, 1);
}

#[tokio::test]
async fn a_worker_declared_dead_loses_its_jobs_and_goes_on_under_a_new_id() {
    let scene = Scene::new();
    let started = Count::new();
    let ids = scene.enqueue(&["x"]).await;
    let worker = scene.start(scene.options(), {
        let started = started.clone();
        move |context: Context| {
            started.add();
            let is_first = started.get() == 1;
            async move {
                if is_first {
                    context.stopped().await;
                    assert!(!context.lease_valid());
                }
                Outcome::done()
            }
        }
    });
    started.reaches(1).await;

    let reaped = scene.store.fail_worker(&worker.boot).await.unwrap();

    assert_eq!(reaped, Some(1));
    started.reaches(2).await;
    let job = scene.until_state(&ids[0], JobState::Succeeded).await;
    assert_eq!(job.attempt, 1);
    let summary = worker.stop().await;
    assert_eq!((summary.lost, summary.succeeded), (1, 1));
}

#[tokio::test]
async fn a_quiet_worker_claims_nothing_until_told_to_go_on() {
    let scene = Scene::new();
    let done = Count::new();
    let worker = scene.start(scene.options(), {
        let done = done.clone();
        move |_: Context| {
            done.add();
            std::future::ready(Outcome::done())
        }
    });
    let first = scene.enqueue(&["x"]).await;
    scene.until_state(&first[0], JobState::Succeeded).await;

    assert!(
        scene
            .store
            .command(&worker.boot, WorkerCommand::Pause)
            .await
            .unwrap()
    );
    // Quiet is heard with a heartbeat, and whatever came before that was still run.
    let quieted = async {
        loop {
            let id = &scene.enqueue(&["x"]).await[0];
            for _ in 0..50 {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if scene.get(id).await.state == JobState::Succeeded {
                    break;
                }
            }
            if scene.get(id).await.state == JobState::Ready {
                return id.clone();
            }
        }
    };
    let waiting = tokio::time::timeout(PATIENCE, quieted)
        .await
        .expect("it grows quiet");
    assert!(
        scene
            .store
            .command(&worker.boot, WorkerCommand::Continue)
            .await
            .unwrap()
    );
    scene.until_state(&waiting, JobState::Succeeded).await;

    worker.stop().await;
}
