//! Groups in Redis: partitions, many groups at once, waiting claims, and programs that do not know groups.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::store::GroupName;
use windlass_core::{ClaimRequest, ErrorKind, JobLease, NewJob, QueueName, Result, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::leases_of;
use windlass_testkit::redis::{Reply, Server, until};

/// More groups than one call places again.
const MANY: usize = 450;

fn queue() -> QueueName {
    QueueName::new("mail").unwrap()
}

fn group(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

fn job(of: &str) -> NewJob {
    NewJob::new(of.to_owned()).group(group(of))
}

async fn open(server: &Server) -> RedisStore {
    RedisStore::open(&server.url(), Options::default())
        .await
        .unwrap()
}

async fn set(store: &RedisStore, setting: &str) -> Result<()> {
    let settings = vec![setting.parse().unwrap()];
    store.set(&queue(), settings).await.map(drop)
}

fn first_stat(server: &Server) -> f64 {
    let Reply::Bulk(stats) = server.command(&["HGET", "windlass:{mail}:state", "figures"]) else {
        panic!("the queue exists");
    };
    f64::from_le_bytes(stats[..8].try_into().unwrap())
}

#[tokio::test]
async fn all_jobs_of_a_group_are_in_one_partition_and_never_run_more_than_its_limit() {
    let server = Server::start();
    let store = open(&server).await;
    set(&store, "partitions=4").await.unwrap();
    set(&store, "group_max_running=2").await.unwrap();
    let jobs = (0..60).map(|n| job(&format!("g{}", n % 6))).collect();
    store.enqueue(&queue(), jobs).await.unwrap();

    let mut running = BTreeMap::<String, usize>::new();
    while let Some(claim) = store
        .claim(&queue(), ClaimRequest::single(50))
        .await
        .unwrap()
    {
        for job in claim.jobs {
            *running.entry(job.group.unwrap().to_string()).or_default() += 1;
        }
    }

    assert_eq!(running.len(), 6);
    assert!(running.values().all(|count| *count == 2), "{running:?}");
    let page = store.groups(&queue(), None, 4).await.unwrap();
    let names: Vec<_> = page.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["g0", "g1", "g2", "g3"]);
    let rest = store.groups(&queue(), page.next, 4).await.unwrap();
    assert_eq!((rest.items.len(), rest.next), (2, None));
    let first = store.group(&queue(), &group("g5")).await.unwrap().unwrap();
    assert_eq!((first.ready, first.slots), (8, 2));
}

#[tokio::test]
async fn partitions_are_not_added_to_a_queue_with_groups() {
    let server = Server::start();
    let store = open(&server).await;
    set(&store, "partitions=2").await.unwrap();
    // In the second partition or in the first: both refuse.
    for name in ["a", "b", "c", "d"] {
        store.enqueue(&queue(), vec![job(name)]).await.unwrap();
        let error = set(&store, "partitions=4").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        let error = set(&store, "group_slot=job").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        store.purge(&queue()).await.unwrap();
    }
    set(&store, "partitions=4").await.unwrap();
}

#[tokio::test]
async fn a_raised_limit_lets_more_groups_start_than_one_call_places_again() {
    let server = Server::start();
    let store = open(&server).await;
    set(&store, "group_max_running=1").await.unwrap();
    let names: Vec<_> = (0..MANY).map(|n| format!("g{n:04}")).collect();
    let jobs = names.iter().flat_map(|name| [job(name), job(name)]);
    store.enqueue(&queue(), jobs.collect()).await.unwrap();
    let claim_all = || async {
        let mut count = 0;
        while let Some(claim) = store
            .claim(&queue(), ClaimRequest::single(100))
            .await
            .unwrap()
        {
            count += claim.jobs.len();
        }
        count
    };
    assert_eq!(claim_all().await, MANY);

    set(&store, "group_max_running=2").await.unwrap();

    assert_eq!(claim_all().await, MANY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_for_a_full_group_gets_the_slot_that_a_completion_frees() {
    let server = Server::start();
    let (worker, waiter) = (open(&server).await, open(&server).await);
    set(&worker, "group_max_running=1").await.unwrap();
    let jobs = vec![job("a"), job("a")];
    worker.enqueue(&queue(), jobs).await.unwrap();
    let claim = worker.claim(&queue(), ClaimRequest::single(9)).await;
    let claim = claim.unwrap().unwrap();
    let waiting = tokio::spawn(async move {
        let mut request = ClaimRequest::single(1);
        let wait = Duration::from_secs(600);
        waiter.claim_waiting(&queue(), &mut request, wait).await
    });
    until("it blocks", || {
        let info = server.command(&["INFO", "clients"]).text();
        let is_blocked = info.contains("blocked_clients:1");
        is_blocked.then_some(()).ok_or(info)
    });

    let done = leases_of(&claim).into_iter().map(JobLease::completion);
    worker
        .complete(&queue(), done.collect(), None)
        .await
        .unwrap();

    let next = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    assert_eq!(next.unwrap().unwrap().unwrap().unwrap().jobs.len(), 1);
}

#[tokio::test]
async fn earlier_versions_refuse_a_queue_that_uses_groups_until_it_is_empty() {
    let server = Server::start();
    let store = open(&server).await;
    let plain = NewJob::new("x");
    store.enqueue(&queue(), vec![plain]).await.unwrap();
    assert_eq!(first_stat(&server).to_bits(), 2.0_f64.to_bits());

    let later = job("a").delay(Duration::from_secs(60));
    store.enqueue(&queue(), vec![later]).await.unwrap();
    assert_eq!(first_stat(&server).to_bits(), 3.0_f64.to_bits());

    store.purge(&queue()).await.unwrap();
    store.maintain(&queue(), 100).await.unwrap();
    assert_eq!(first_stat(&server).to_bits(), 2.0_f64.to_bits());
}
