//! Many idle workers: one job wakes about one of them, and lost wake-ups only cost time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use windlass_core::wait::POLL_MAX;
use windlass_core::{ClaimRequest, JobLease, NewJob, QueueName, Result, Store};
use windlass_store_redis::RedisStore;
use windlass_testkit::redis::{Server, until};

use crate::support::{counted, info, open, queue, with};

const STORES: usize = 4;
const WORKERS: usize = 200;
const ROUNDS: usize = 15;

/// Waking all workers would cost one call each. Besides polls, there are only a few calls.
const WOKEN_MAX: u64 = WORKERS as u64 / 4;

/// The poll interval, plus what a busy machine may need.
const PICKED_UP_WITHIN: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn one_job_does_not_wake_two_hundred_workers() {
    let (server, q, producer) = empty_queue().await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    for _ in 0..STORES {
        let store = open(&server.url()).await;
        for _ in 0..WORKERS / STORES {
            idle.spawn(work(store.clone(), q.clone(), started.clone()));
        }
    }
    with(&server, |server| {
        until("all workers block", || {
            let blocked = info(server, "clients", "blocked_clients");
            (blocked >= WORKERS as u64 - 5)
                .then_some(())
                .ok_or_else(|| blocked.to_string())
        });
    })
    .await;

    let mut woken = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..ROUNDS {
        sleep(Duration::from_millis(fastrand::u64(20..60))).await;
        let began = Instant::now();
        let before = with(&server, claims).await;
        producer
            .enqueue(&q, vec![NewJob::new("a job")])
            .await
            .unwrap();
        starts.recv().await.expect("a worker claims it");
        waits.push(began.elapsed());
        // Other workers that were woken have claimed by now.
        sleep(Duration::from_millis(10)).await;
        let calls = with(&server, claims).await - before;
        woken.push(calls.saturating_sub(polls_within(began.elapsed())));
    }

    woken.sort_unstable();
    waits.sort_unstable();
    println!(
        "script calls per job without polls {woken:?}; picked up in p50 {:?}",
        waits[ROUNDS / 2]
    );
    // The enqueue, the claim and its completion are three.
    assert!(woken[ROUNDS / 2] <= WOKEN_MAX, "{woken:?}");
    assert!(waits[ROUNDS / 2] < PICKED_UP_WITHIN, "{waits:?}");
}

/// Returns how often all workers poll in this time at most, so that polls on a slow machine do not
/// count as wake-ups.
fn polls_within(time: Duration) -> u64 {
    let shortest = POLL_MAX / 2;
    u64::try_from(WORKERS as u128 * time.as_millis() / shortest.as_millis()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_job_is_picked_up_by_polling_although_every_wake_up_is_lost() {
    let (server, q, producer) = empty_queue().await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    idle.spawn(work(open(&server.url()).await, q.clone(), started));

    let mut waits = Vec::new();
    for _ in 0..ROUNDS {
        sleep(Duration::from_millis(fastrand::u64(60..120))).await;
        // Delete the waiters, so that the enqueue wakes none.
        with(&server, |server| {
            let keys = ["windlass:{q}:wake", "windlass:{q}:sleepers"];
            server.command(&["DEL", keys[0], keys[1]]).ok();
        })
        .await;
        let began = Instant::now();
        producer
            .enqueue(&q, vec![NewJob::new("a job")])
            .await
            .unwrap();
        timeout(PICKED_UP_WITHIN, starts.recv())
            .await
            .expect("the poll finds it")
            .expect("the worker is alive");
        waits.push(began.elapsed());
    }

    waits.sort_unstable();
    println!(
        "without wake-ups picked up in p50 {:?}, longest {:?}",
        waits[ROUNDS / 2],
        waits[ROUNDS - 1]
    );
    assert!(
        waits[ROUNDS / 2] > Duration::from_millis(100),
        "a wake-up was delivered: {waits:?}"
    );
}

/// Starts a server with an empty queue; returns a store to enqueue with.
async fn empty_queue() -> (Arc<Server>, QueueName, RedisStore) {
    let server = Arc::new(Server::start());
    let q = queue("q");
    let producer = open(&server.url()).await;
    producer.enqueue(&q, Vec::new()).await.unwrap();
    (server, q, producer)
}

/// Waits for jobs and completes them until the test ends.
async fn work(store: RedisStore, q: QueueName, started: mpsc::UnboundedSender<()>) -> Result<()> {
    loop {
        let mut request = ClaimRequest::single(1);
        let wait = Duration::from_secs(60);
        let Some(claim) = store.claim_waiting(&q, &mut request, wait).await? else {
            continue;
        };
        for job in claim.jobs {
            // Fails once the test has ended.
            let _ = started.send(());
            let lease = JobLease::new(job.id, claim.token);
            store.complete(&q, vec![lease.completion()], None).await?;
        }
    }
}

fn claims(server: &Server) -> u64 {
    counted(server, "commandstats", "cmdstat_evalsha")
}
