//! Many idle workers and waiting claims: one job wakes about one of them, they cost little, and lost
//! wake-ups only cost time.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use windlass_core::wait::POLL_MAX;
use windlass_core::{
    BootId, ClaimRequest, JobId, JobLease, NewJob, OutcomeStatus, QueueName, Result, Store,
};
use windlass_store_redis::RedisStore;
use windlass_testkit::redis::{Server, until};

use crate::support::{counted, info, open, queue, with};

const STORES: usize = 4;
const WORKERS: usize = 200;
const ROUNDS: usize = 15;

/// How long a claim waits that gives up.
const GIVES_UP_AFTER: Duration = Duration::from_millis(50);

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
    with(&server, |server| until_blocked(server, WORKERS as u64 - 5)).await;

    let mut woken = Vec::new();
    let mut waits = Vec::new();
    for _ in 0..ROUNDS {
        sleep(Duration::from_millis(fastrand::u64(20..60))).await;
        let began = Instant::now();
        let before = with(&server, claims).await;
        enqueue(&producer, &q, 1).await;
        starts.recv().await.expect("a worker claims it");
        waits.push(began.elapsed());
        // Other workers that were woken have claimed by now.
        sleep(Duration::from_millis(10)).await;
        let calls = with(&server, claims).await - before;
        woken.push(calls.saturating_sub(polls_within(WORKERS, began.elapsed())));
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
fn polls_within(workers: usize, time: Duration) -> u64 {
    let shortest = POLL_MAX / 2;
    u64::try_from(workers as u128 * time.as_millis() / shortest.as_millis()).unwrap()
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
        enqueue(&producer, &q, 1).await;
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

/// As many claims of one process as the HTTP API may have, each for a second, as it makes them.
const POLLS: usize = 500;
const POLL_ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn waiting_claims_of_a_process_share_a_connection_and_its_polls() {
    let (server, q, _) = empty_queue().await;
    let store = open(&server.url()).await;
    let connections = |server: &Server| info(server, "stats", "total_connections_received");
    let wait = Duration::from_secs(1);
    let first = tokio::spawn({
        let (store, q) = (store.clone(), q.clone());
        async move {
            store
                .claim_waiting(&q, &mut ClaimRequest::single(1), wait)
                .await
        }
    });
    with(&server, |server| until_blocked(server, 1)).await;
    // Counts the connection that asks, too.
    let before = with(&server, move |server| (connections(server), claims(server))).await;

    let mut polls = JoinSet::new();
    for _ in 0..POLLS {
        let (store, q) = (store.clone(), q.clone());
        polls.spawn(async move {
            for _ in 0..POLL_ROUNDS {
                let mut request = ClaimRequest::single(1);
                let found = store.claim_waiting(&q, &mut request, wait).await.unwrap();
                assert_eq!(found, None);
            }
        });
    }
    polls.join_all().await;
    assert_eq!(first.await.unwrap().unwrap(), None);

    let after = with(&server, move |server| (connections(server), claims(server))).await;
    let (opened, calls) = (after.0 - before.0, after.1 - before.1);
    println!(
        "{POLLS} claims waited {POLL_ROUNDS} times: {opened} connections, {calls} script calls"
    );
    assert!(opened <= 10, "{opened} connections");
    // Claims that do not share their polls make at least one call per wait. On a busy machine the waits of a
    // round end at different times, so that fewer of them share one.
    assert!(calls <= (POLLS * POLL_ROUNDS / 3) as u64, "{calls} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_job_of_a_batch_reaches_a_waiting_claim_of_its_own() {
    const JOBS: usize = 100;
    let (server, q, producer) = empty_queue().await;
    let stores = [open(&server.url()).await, open(&server.url()).await];
    let waiting = waiting_claims(&server, &q, &stores, JOBS / 2).await;
    let before = with(&server, claims).await;
    let began = Instant::now();

    enqueue(&producer, &q, JOBS).await;

    let claims_made = timeout(PICKED_UP_WITHIN, waiting.join_all()).await;
    let took = began.elapsed();
    let ids: HashSet<_> = claims_made.expect("all are woken").into_iter().collect();
    let calls = with(&server, claims).await - before;
    println!("{JOBS} jobs reached {JOBS} waiting claims in {took:?} with {calls} calls");
    assert_eq!(ids.len(), JOBS);
    // One call each, and some that came too late.
    let calls = calls.saturating_sub(polls_within(stores.len(), took));
    assert!(calls <= 3 * JOBS as u64, "{calls} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_claim_that_gives_up_leaves_the_job_to_another() {
    for partitions in [1, 4] {
        let (server, q, producer) = empty_queue().await;
        partition(&producer, &q, partitions).await;
        let store = open(&server.url()).await;
        for round in 0..ROUNDS as u64 {
            let waiting = |wait| {
                let (store, q) = (store.clone(), q.clone());
                async move {
                    let mut request = ClaimRequest::single(1);
                    store.claim_waiting(&q, &mut request, wait).await.unwrap()
                }
            };
            let first = tokio::spawn(waiting(GIVES_UP_AFTER));
            let second = tokio::spawn(waiting(Duration::from_secs(60)));
            // The job arrives at about the time that the first gives up.
            sleep(GIVES_UP_AFTER.saturating_sub(Duration::from_millis(round % 3))).await;
            enqueue(&producer, &q, 1).await;
            let first = first.await.unwrap();
            if first.is_some() {
                // It got the job: the second is for the next one.
                enqueue(&producer, &q, 1).await;
            }

            let second = timeout(PICKED_UP_WITHIN, second).await;

            let second = second.expect("it is woken").unwrap();
            for found in first.into_iter().chain(second) {
                let lease = JobLease::new(found.jobs[0].id.clone(), found.token);
                let done = store.complete(&q, vec![lease.completion()], None).await;
                assert_eq!(done.unwrap().statuses, [OutcomeStatus::Completed]);
            }
        }
    }
}

/// Idle workers, and partitions of their queue.
const IDLE: usize = 60;
const PARTITIONS: u32 = 8;

/// How long calls of idle workers are counted.
const COUNTED_FOR: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread")]
async fn idle_workers_cost_a_partitioned_queue_at_most_twice_as_much() {
    let (one, one_job) = idle_cost(1).await;
    let (many, many_job) = idle_cost(PARTITIONS).await;
    println!(
        "{IDLE} idle workers: {one:.0} calls/s with one partition, {many:.0} with {PARTITIONS}; \
         calls per job: {one_job} and {many_job}"
    );
    assert!(many <= 2.0 * one, "{many:.0} calls/s, {one:.0} with one");
    // The enqueue, the claim, its completion and the next wait are four.
    assert!(
        many_job <= one_job.max(4) * 2,
        "{many_job} calls, {one_job}"
    );
}

/// Returns the script calls per second of idle workers, and the median of those for one job.
async fn idle_cost(partitions: u32) -> (f64, u64) {
    let (server, q, producer) = empty_queue().await;
    partition(&producer, &q, partitions).await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    for _ in 0..STORES {
        let store = open(&server.url()).await;
        for _ in 0..IDLE / STORES {
            idle.spawn(work(store.clone(), q.clone(), started.clone()));
        }
    }
    // Every worker has done a job, and waits again.
    enqueue(&producer, &q, 4 * IDLE).await;
    for _ in 0..4 * IDLE {
        starts.recv().await.expect("a worker claims it");
    }
    with(&server, |server| until_blocked(server, IDLE as u64)).await;
    sleep(COUNTED_FOR).await;

    let (before, began) = (with(&server, claims).await, Instant::now());
    sleep(COUNTED_FOR).await;
    let calls = with(&server, claims).await - before;
    let rate = f64::from(u32::try_from(calls).unwrap()) / began.elapsed().as_secs_f64();

    let mut per_job = Vec::new();
    for _ in 0..ROUNDS {
        let (before, began) = (with(&server, claims).await, Instant::now());
        enqueue(&producer, &q, 1).await;
        starts.recv().await.expect("a worker claims it");
        // Other workers that were woken have claimed by now.
        sleep(Duration::from_millis(10)).await;
        let calls = with(&server, claims).await - before;
        per_job.push(calls.saturating_sub(polls_within(IDLE, began.elapsed())));
    }
    per_job.sort_unstable();
    (rate, per_job[ROUNDS / 2])
}

pub(crate) async fn partition(store: &RedisStore, q: &QueueName, partitions: u32) {
    let setting = format!("partitions={partitions}").parse().unwrap();
    store.set(q, vec![setting]).await.unwrap();
}

async fn enqueue(store: &RedisStore, q: &QueueName, count: usize) {
    let jobs = (0..count).map(|_| NewJob::new("a job")).collect();
    store.enqueue(q, jobs).await.unwrap();
}

/// Starts `count` single claims per store that wait for one job.
async fn waiting_claims(
    server: &Arc<Server>,
    q: &QueueName,
    stores: &[RedisStore],
    count: usize,
) -> JoinSet<JobId> {
    let mut waiting = JoinSet::new();
    let wait = |store: &RedisStore| {
        let (store, q) = (store.clone(), q.clone());
        async move {
            let mut request = ClaimRequest::single(1);
            let wait = Duration::from_secs(60);
            let claim = store.claim_waiting(&q, &mut request, wait).await.unwrap();
            claim.expect("a job").jobs[0].id.clone()
        }
    };
    // Once a claim of a store is parked, the others wait without a call.
    for store in stores {
        waiting.spawn(wait(store));
    }
    let parked = stores.len() as u64;
    with(server, move |server| until_blocked(server, parked)).await;
    for store in stores {
        for _ in 1..count {
            waiting.spawn(wait(store));
        }
    }
    waiting
}

fn until_blocked(server: &Server, count: u64) {
    until("claims wait", || {
        let blocked = info(server, "clients", "blocked_clients");
        (blocked >= count)
            .then_some(())
            .ok_or_else(|| blocked.to_string())
    });
}

/// Starts a server with an empty queue; returns a store to enqueue with.
pub(crate) async fn empty_queue() -> (Arc<Server>, QueueName, RedisStore) {
    let server = Arc::new(Server::start());
    let q = queue("q");
    let producer = open(&server.url()).await;
    producer.enqueue(&q, Vec::new()).await.unwrap();
    (server, q, producer)
}

/// Waits for jobs and completes them until the test ends.
pub(crate) async fn work(
    store: RedisStore,
    q: QueueName,
    started: mpsc::UnboundedSender<()>,
) -> Result<()> {
    let boot = BootId::generate();
    let mut seq = 0;
    loop {
        let mut request = ClaimRequest::worker(boot.clone(), seq + 1, 1);
        let wait = Duration::from_secs(60);
        let claim = store.claim_waiting(&q, &mut request, wait).await?;
        seq = request.claimer.seq();
        let Some(claim) = claim else { continue };
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
