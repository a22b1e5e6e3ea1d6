//! The history of a partitioned queue.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{ClaimRequest, JobLease, ManualClock, NewJob, QueueName, Store, Timestamp};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::Server;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_covers_all_partitions() {
    let server = Server::start();
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(60_000_000)));
    let options = Options {
        clock: Some(clock.clone()),
        ..Options::default()
    };
    let store = RedisStore::open(&server.url(), options).await.unwrap();
    let queue = QueueName::new("mail").unwrap();
    let partitions = "partitions=3".parse().unwrap();
    store.set(&queue, vec![partitions]).await.unwrap();
    let jobs = |count| (0..count).map(|_| NewJob::new("hello")).collect();
    store.enqueue(&queue, jobs(60)).await.unwrap();
    store.maintain(&queue, 100).await.unwrap();
    clock.advance(Duration::from_secs(60));
    store.maintain(&queue, 100).await.unwrap();
    clock.advance(Duration::from_secs(1));
    while let Some(claim) = store.claim(&queue, ClaimRequest::single(50)).await.unwrap() {
        let done = leases_of(&claim).into_iter().map(JobLease::completion);
        store.complete(&queue, done.collect(), None).await.unwrap();
    }
    store.enqueue(&queue, jobs(5)).await.unwrap();

    let rows = store.history(&queue, 60).await.unwrap();

    let counts = rows
        .iter()
        .map(|row| (row.counts.enqueued, row.counts.succeeded));
    assert_eq!(counts.collect::<Vec<_>>(), [(60, 0), (5, 60)]);
    assert_eq!(rows[1].levels.ready, 5);
    // One wait of each partition.
    assert_eq!(rows[1].waits.count(), 3);
}
