//! Deduplication in partitioned queues: a job and its key stay where an earlier number of partitions had put them.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::time::Duration;

use windlass_core::store::{Changed, OnDuplicate, UniqueKey};
use windlass_core::{Change, ClaimRequest, Enqueued, JobId, Mode, Store, Target};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{named, queue};
use windlass_testkit::redis::Server;

async fn open(url: &str) -> RedisStore {
    RedisStore::open(url, Options::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_replaced_and_its_key_is_held_where_fewer_partitions_had_put_it() {
    let server = Server::start();
    let (first, second) = (open(&server.url()).await, open(&server.url()).await);
    let keyed = |id: String, n: usize| {
        let key = UniqueKey::new(format!("key {n}")).unwrap();
        named(&id)
            .unique_key(key)
            .unique_for(Duration::from_secs(3600))
    };
    let replacing = |round: &str| {
        let job = |n| keyed(format!("{round}{n}"), n).on_duplicate(OnDuplicate::Replace);
        (0..30).map(job).collect::<Vec<_>>()
    };
    let jobs = (0..30).map(|n| keyed(format!("k{n}"), n)).collect();
    first.enqueue(&queue("mail"), jobs).await.unwrap();
    let setting = "partitions=7".parse().unwrap();
    first.set(&queue("mail"), vec![setting]).await.unwrap();

    for (store, round) in [(&first, "a"), (&second, "b"), (&first, "a")] {
        for (n, reply) in store
            .enqueue(&queue("mail"), replacing(round))
            .await
            .unwrap()
            .iter()
            .enumerate()
        {
            assert!(
                matches!(reply, Enqueued::Replaced { id, .. } if id.as_str() == format!("k{n}"))
            );
        }
    }

    let job = first.get(&queue("mail"), &JobId::new("k7").unwrap()).await;
    assert_eq!(job.unwrap().unwrap().payload.unwrap(), "b7");
    let mut ended = 0;
    let once = || ClaimRequest::single(50).mode(Mode::AtMostOnce);
    while let Some(claim) = second.claim(&queue("mail"), once()).await.unwrap() {
        ended += claim.jobs.len();
    }
    assert_eq!(ended, 30);
    for store in [&first, &second] {
        let held = store.enqueue(&queue("mail"), replacing("c")).await.unwrap();
        assert!(held.iter().all(Enqueued::is_duplicate), "{held:?}");
    }
    let key = Target::UniqueKey(UniqueKey::new("key 7").unwrap());
    let freed = second
        .change(&queue("mail"), Change::Delete, &key, None)
        .await;
    assert_eq!(freed.unwrap().items[0].changed, Changed::Done);
    let again = first.enqueue(&queue("mail"), replacing("d")).await.unwrap();
    let accepted = again.iter().filter(|reply| reply.is_accepted());
    assert_eq!(accepted.count(), 1);
}
