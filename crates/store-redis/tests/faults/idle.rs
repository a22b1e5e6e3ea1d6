//! Many idle workers: one job wakes about one of them, and lost hints only cost time.

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

/// What the whole crowd would cost is its number; beside the polls there are a handful of calls.
const WOKEN_MAX: u64 = WORKERS as u64 / 4;

/// The poll, and what a busy machine may need besides.
const PICKED_UP_WITHIN: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn one_job_does_not_wake_two_hundred_workers() {
    let (server, q, producer) = place().await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    for _ in 0..STORES {
        let store = open(&server.url()).await;
        for _ in 0..WORKERS / STORES {
            idle.spawn(work(store.clone(), q.clone(), started.clone()));
        }
    }
    with(&server, |server| {
        until("all of them sleep", || {
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
        starts.recv().await.expect("somebody takes it");
        waits.push(began.elapsed());
        // Whoever else was woken claims by now.
        sleep(Duration::from_millis(10)).await;
        let calls = with(&server, claims).await - before;
        woken.push(calls.saturating_sub(polls_within(began.elapsed())));
    }

    woken.sort_unstable();
    waits.sort_unstable();
    println!(
        "calls of scripts per job beside polls {woken:?}; picked up in p50 {:?}",
        waits[ROUNDS / 2]
    );
    // The enqueue, the claim and its completion are three.
    assert!(woken[ROUNDS / 2] <= WOKEN_MAX, "{woken:?}");
    assert!(waits[ROUNDS / 2] < PICKED_UP_WITHIN, "{waits:?}");
}

/// How often the whole crowd polls in this time, at the most: what a busy machine makes longer is
/// not taken for wakes.
fn polls_within(time: Duration) -> u64 {
    let shortest = POLL_MAX / 2;
    u64::try_from(WORKERS as u128 * time.as_millis() / shortest.as_millis()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_job_is_picked_up_within_the_poll_although_every_hint_is_lost() {
    let (server, q, producer) = place().await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    idle.spawn(work(open(&server.url()).await, q.clone(), started));

    let mut waits = Vec::new();
    for _ in 0..ROUNDS {
        sleep(Duration::from_millis(fastrand::u64(60..120))).await;
        // The sleeper is forgotten: nobody leaves a marker for it.
        with(&server, |server| {
            let hints = ["windlass:{q}:wake", "windlass:{q}:sleepers"];
            server.command(&["DEL", hints[0], hints[1]]).ok();
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
            .expect("the worker lives");
        waits.push(began.elapsed());
    }

    waits.sort_unstable();
    println!(
        "without hints picked up in p50 {:?}, longest {:?}",
        waits[ROUNDS / 2],
        waits[ROUNDS - 1]
    );
    assert!(
        waits[ROUNDS / 2] > Duration::from_millis(100),
        "hints came all the same: {waits:?}"
    );
}

/// A server with an empty queue, and who fills it.
async fn place() -> (Arc<Server>, QueueName, RedisStore) {
    let server = Arc::new(Server::start());
    let q = queue("q");
    let producer = open(&server.url()).await;
    producer.enqueue(&q, Vec::new()).await.unwrap();
    (server, q, producer)
}

/// Waits for one job after the other, and completes it, until the test ends.
async fn work(store: RedisStore, q: QueueName, started: mpsc::UnboundedSender<()>) -> Result<()> {
    loop {
        let mut request = ClaimRequest::single(1);
        let wait = Duration::from_secs(60);
        let Some(claim) = store.claim_waiting(&q, &mut request, wait).await? else {
            continue;
        };
        for job in claim.jobs {
            // Nobody counts any more when the test has ended.
            let _ = started.send(());
            let hold = JobLease::new(job.id, claim.token);
            store.complete(&q, vec![hold.completion()], None).await?;
        }
    }
}

fn claims(server: &Server) -> u64 {
    counted(server, "commandstats", "cmdstat_evalsha")
}
