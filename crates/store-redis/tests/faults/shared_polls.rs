//! The waiters of a partitioned queue share its polls: each polls seldom, and each partition is polled
//! often.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use windlass_core::wait::POLL_MAX;
use windlass_testkit::redis::{Server, until};

use crate::idle::{empty_queue, partition, work};
use crate::support::{open, with};

const PARTITIONS: u32 = 8;
const WORKERS: i64 = 6;

/// How much longer than until its poll a waiter is registered.
const GRACE: Duration = Duration::from_millis(200);

/// Returns the number of waiters that are registered for at most this long.
const REGISTERED: &str = "local time = redis.call('TIME') \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    return redis.call('ZCOUNT', KEYS[1], '-inf', now + ARGV[1])";

#[tokio::test(flavor = "multi_thread")]
async fn some_waiter_always_polls_each_partition_soon() {
    let (server, q, producer) = empty_queue().await;
    partition(&producer, &q, PARTITIONS).await;
    let (started, _starts) = mpsc::unbounded_channel();
    let mut idle = JoinSet::new();
    for _ in 0..2 {
        let store = open(&server.url()).await;
        for _ in 0..WORKERS / 2 {
            idle.spawn(work(store.clone(), q.clone(), started.clone()));
        }
    }
    with(&server, |server| {
        until("every worker is registered everywhere", || {
            let all = (0..PARTITIONS).map(|number| registered(server, number, POLL_MAX * 100));
            let fewest = all.min().unwrap_or_default();
            (fewest >= WORKERS)
                .then_some(())
                .ok_or_else(|| fewest.to_string())
        });
    })
    .await;

    let began = Instant::now();
    let (mut samples, mut rest) = (0, 0);
    while began.elapsed() < 5 * POLL_MAX {
        // A registration that is over stays until the next poll, however late that is.
        let soon = with(&server, |server| {
            (0..PARTITIONS)
                .map(|number| registered(server, number, POLL_MAX + GRACE))
                .collect::<Vec<_>>()
        });
        let soon = soon.await;
        assert!(soon.iter().all(|waiters| *waiters > 0), "{soon:?}");
        samples += soon.len();
        rest += soon.iter().filter(|waiters| **waiters < WORKERS).count();
        sleep(Duration::from_millis(20)).await;
    }
    println!("in {rest} of {samples} samples, not all workers poll soon");
    assert!(rest > samples / 2, "all workers poll at the same rate");
}

/// Returns the number of waiters of a partition that are registered for at most this long.
fn registered(server: &Server, number: u32, time: Duration) -> i64 {
    let key = match number {
        0 => "windlass:{q}:sleepers".to_owned(),
        n => format!("windlass:{{q/{n}}}:sleepers"),
    };
    let time = time.as_millis().to_string();
    let reply = server.command(&["EVAL", REGISTERED, "1", &key, &time]);
    reply.integer()
}
