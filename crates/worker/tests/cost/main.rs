//! What the runtime asks of its store, in calls, beside a budget. No speed is judged.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

mod counted;
#[path = "../shared/tapped.rs"]
mod tapped;

use std::sync::Arc;
use std::time::{Duration, Instant};

use counted::{Counted, Renewing};
use tokio::sync::Semaphore;
use windlass_core::{NewJob, QueueName, Store};
use windlass_worker::{Context, Options, Outcome, Runtime, Source, Stores};

/// Longer than anything here takes; reaching it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most calls for one job through a worker with 200 slots: twice what a busy machine needs,
/// since how many jobs end while a call is under way is up to the scheduler. After a change that
/// makes it less, lower it to twice what this prints on a busy machine:
///
/// ```text
/// WINDLASS_COST=print cargo test -p windlass-worker --test cost -- --nocapture
/// ```
const CALLS_PER_JOB: f64 = 0.03;

/// Long enough that no busy machine loses it; a third of it passes between two renewals.
const LEASE: Duration = Duration::from_secs(12);

struct Scene {
    store: Arc<Counted>,
    queue: QueueName,
}

impl Scene {
    /// A queue with so many jobs.
    async fn new(jobs: usize) -> Self {
        let scene = Self {
            store: Arc::new(Counted::new()),
            queue: QueueName::new("mail").unwrap(),
        };
        let batch = (0..jobs).map(|_| NewJob::new("x")).collect();
        scene.store.enqueue(&scene.queue, batch).await.unwrap();
        scene
    }

    fn options(&self, concurrency: usize) -> Options {
        let mut options = Options::new([Source::new(self.queue.clone())]);
        options.concurrency = concurrency;
        options.lease = LEASE;
        options
    }

    fn stores(&self) -> Stores {
        Stores::shared(Arc::clone(&self.store) as Arc<dyn Store>)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_together_share_their_calls() {
    const JOBS: u32 = 10_000;
    let scene = Scene::new(JOBS as usize).await;
    let done = Arc::new(Semaphore::new(0));
    let handler = {
        let done = Arc::clone(&done);
        move |_: Context| {
            done.add_permits(1);
            std::future::ready(Outcome::done())
        }
    };
    let runtime = Runtime::new(scene.stores(), scene.options(200), Arc::new(handler)).unwrap();
    let stopper = runtime.stopper();
    let worker = tokio::spawn(runtime.run());

    let all = tokio::time::timeout(PATIENCE, done.acquire_many(JOBS)).await;
    drop(all.expect("all jobs are run"));
    stopper.stop();
    worker.await.unwrap().unwrap();

    let calls = scene.store.calls();
    let per_job = f64::from(calls.values().sum::<u32>()) / f64::from(JOBS);
    if std::env::var_os("WINDLASS_COST").is_some() {
        println!("calls for each job: {per_job:.4}, {calls:?}");
    }
    assert!(
        per_job <= CALLS_PER_JOB,
        "{per_job:.4} calls for each job, the budget is {CALLS_PER_JOB}: {calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_job_is_renewed_by_one_call_an_interval() {
    assert_one_call_an_interval(1, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_jobs_are_renewed_by_one_call_an_interval() {
    assert_one_call_an_interval(1000, 10).await;
}

/// Holds jobs until they were renewed twice, all claims with each call.
async fn assert_one_call_an_interval(jobs: usize, claims: usize) {
    let scene = Scene::new(jobs).await;
    let started = Arc::new(Semaphore::new(0));
    let handler = {
        let started = Arc::clone(&started);
        move |_: Context| {
            started.add_permits(1);
            std::future::pending::<Outcome>()
        }
    };
    let runtime = Runtime::new(scene.stores(), scene.options(jobs), Arc::new(handler)).unwrap();
    let stopper = runtime.stopper();
    let began = Instant::now();
    let worker = tokio::spawn(runtime.run());
    let all = started.acquire_many(u32::try_from(jobs).unwrap());
    drop(
        tokio::time::timeout(PATIENCE, all)
            .await
            .expect("all jobs start"),
    );
    let mut renewals = scene.store.renewals();
    let begun = renewals.borrow().len();
    let renewed = renewals.wait_for(|all| all.len() >= begun + 2);
    let renewed: Vec<Renewing> = tokio::time::timeout(PATIENCE, renewed)
        .await
        .expect("leases are renewed")
        .unwrap()
        .clone();
    stopper.stop_now();
    worker.await.unwrap().unwrap();

    assert!(
        renewed[begun..]
            .iter()
            .all(|renewing| renewing.claims == claims),
        "{renewed:?}"
    );
    // A machine that stands still makes them fewer, never more.
    for (count, renewing) in (1..).zip(&renewed) {
        let passed = renewing.at - began;
        assert!(
            passed >= count * LEASE / 3,
            "{count} renewals after {passed:?}"
        );
    }
}
