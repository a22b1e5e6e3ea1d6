//! How many store calls the runtime makes, compared with a budget. Speed is not measured.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue fails at that line"
)]

mod counting_store;
#[path = "../shared/tapped_store.rs"]
mod tapped_store;

use std::sync::Arc;
use std::time::{Duration, Instant};

use counting_store::{CountingStore, RecordedRenewal};
use tokio::sync::Semaphore;
use windlass_core::{LeaseTime, NewJob, QueueName, Store};
use windlass_worker::{AttemptContext, Connections, Options, Outcome, Runtime, Source};

/// Longer than any test takes; reaching it is a failure.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most calls per job through a worker with 200 slots: twice what a busy machine needs, since
/// the number of jobs that end while a call is in flight depends on the scheduler. After a change
/// that needs fewer calls, lower it to twice what this prints on a busy machine:
///
/// ```text
/// WINDLASS_COST=print cargo test -p windlass-worker --test cost -- --nocapture
/// ```
const CALLS_PER_JOB: f64 = 0.03;

/// Long enough that no busy machine loses it; renewed after a third of it.
const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(12));

struct Fixture {
    store: Arc<CountingStore>,
    queue: QueueName,
}

impl Fixture {
    /// A queue with `jobs` jobs.
    async fn new(jobs: usize) -> Self {
        let fixture = Self {
            store: Arc::new(CountingStore::new()),
            queue: QueueName::new("mail").unwrap(),
        };
        let batch = (0..jobs).map(|_| NewJob::new("x")).collect();
        fixture.store.enqueue(&fixture.queue, batch).await.unwrap();
        fixture
    }

    fn options(&self, concurrency: usize) -> Options {
        let mut options = Options::new([Source::new(self.queue.clone())]);
        options.concurrency = concurrency;
        options.lease = LEASE;
        options
    }

    fn connections(&self) -> Connections {
        Connections::shared(Arc::clone(&self.store) as Arc<dyn Store>)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_end_together_share_their_calls() {
    const JOBS: u32 = 10_000;
    let fixture = Fixture::new(JOBS as usize).await;
    let done = Arc::new(Semaphore::new(0));
    let handler = {
        let done = Arc::clone(&done);
        move |_: AttemptContext| {
            done.add_permits(1);
            std::future::ready(Outcome::done())
        }
    };
    let runtime = Runtime::new(
        fixture.connections(),
        fixture.options(200),
        Arc::new(handler),
    )
    .unwrap();
    let stopper = runtime.stopper();
    let worker = tokio::spawn(runtime.run());

    let all = tokio::time::timeout(TIMEOUT, done.acquire_many(JOBS)).await;
    drop(all.expect("all jobs are run"));
    stopper.stop();
    worker.await.unwrap().unwrap();

    let calls = fixture.store.calls();
    let per_job = f64::from(calls.values().sum::<u32>()) / f64::from(JOBS);
    if std::env::var_os("WINDLASS_COST").is_some() {
        println!("calls per job: {per_job:.4}, {calls:?}");
    }
    assert!(
        per_job <= CALLS_PER_JOB,
        "{per_job:.4} calls per job, the budget is {CALLS_PER_JOB}: {calls:?}"
    );
}

/// On one thread, so that the order is certain.
#[tokio::test]
async fn a_handler_starts_before_the_next_claim_is_sent() {
    let fixture = Fixture::new(1).await;
    let (started, mut claims) = tokio::sync::mpsc::unbounded_channel();
    let handler = {
        let store = Arc::clone(&fixture.store);
        move |_: AttemptContext| {
            let calls = store.calls();
            let claims = calls.iter().filter(|(verb, _)| verb.starts_with("claim"));
            started
                .send(claims.map(|(_, count)| count).sum::<u32>())
                .unwrap();
            std::future::ready(Outcome::done())
        }
    };
    let (connections, options) = (fixture.connections(), fixture.options(2));
    let runtime = Runtime::new(connections, options, Arc::new(handler)).unwrap();
    let stopper = runtime.stopper();
    let worker = tokio::spawn(runtime.run());

    let claims = tokio::time::timeout(TIMEOUT, claims.recv()).await;
    stopper.stop();
    worker.await.unwrap().unwrap();

    assert_eq!(claims.expect("the job is run"), Some(1));
}

/// With a paused clock and on one thread: no call is answered while a task can run.
#[tokio::test(start_paused = true)]
async fn half_of_the_slots_are_worth_a_second_call() {
    let fixture = Fixture::new(10).await;
    let (running, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let handler = {
        let (running, may_end) = (Arc::clone(&running), Arc::clone(&may_end));
        move |_: AttemptContext| {
            let (running, may_end) = (Arc::clone(&running), Arc::clone(&may_end));
            async move {
                running.add_permits(1);
                may_end.acquire().await.unwrap().forget();
                Outcome::done()
            }
        }
    };
    let (connections, options) = (fixture.connections(), fixture.options(10));
    let runtime = Runtime::new(connections, options, Arc::new(handler)).unwrap();
    let stopper = runtime.stopper();
    let worker = tokio::spawn(runtime.run());
    drop(running.acquire_many(10).await.unwrap());
    let completions_after = async |ended: usize| {
        may_end.add_permits(ended);
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        fixture.store.calls().get("complete").copied()
    };

    assert_eq!(completions_after(1).await, Some(1));
    assert_eq!(
        completions_after(4).await,
        Some(1),
        "they wait for the reply"
    );
    assert_eq!(completions_after(1).await, Some(2), "half of the slots");

    may_end.add_permits(4);
    stopper.stop();
    worker.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_job_is_renewed_by_one_call_an_interval() {
    assert_one_call_an_interval(1, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_jobs_are_renewed_by_one_call_an_interval() {
    assert_one_call_an_interval(1000, 10).await;
}

/// Holds jobs until all their claims were renewed by two calls.
async fn assert_one_call_an_interval(jobs: usize, claims: usize) {
    let fixture = Fixture::new(jobs).await;
    let started = Arc::new(Semaphore::new(0));
    let handler = {
        let started = Arc::clone(&started);
        move |_: AttemptContext| {
            started.add_permits(1);
            std::future::pending::<Outcome>()
        }
    };
    let runtime = Runtime::new(
        fixture.connections(),
        fixture.options(jobs),
        Arc::new(handler),
    )
    .unwrap();
    let stopper = runtime.stopper();
    let began = Instant::now();
    let worker = tokio::spawn(runtime.run());
    let all = started.acquire_many(u32::try_from(jobs).unwrap());
    drop(
        tokio::time::timeout(TIMEOUT, all)
            .await
            .expect("all jobs start"),
    );
    let mut renewals = fixture.store.renewals();
    let begun = renewals.borrow().len();
    let renewed = renewals.wait_for(|all| all.len() >= begun + 2);
    let renewed: Vec<RecordedRenewal> = tokio::time::timeout(TIMEOUT, renewed)
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
    // A machine that stalls makes fewer renewals, never more.
    for (count, renewing) in (1..).zip(&renewed) {
        let passed = renewing.at - began;
        assert!(
            passed >= count * LEASE.get() / 3,
            "{count} renewals after {passed:?}"
        );
    }
}
