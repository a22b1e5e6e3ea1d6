//! A call is applied, its reply is lost, and the store sends it again: the caller gets the reply of
//! the first time, and nothing is applied twice.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::{DurabilityLevel, Retry, UniqueKey};
use windlass_core::{
    BootId, Change, ClaimRequest, Enqueued, Filter, JobLease, JobState, LeaseTime, ManualClock,
    NewJob, QueueName, Result, Store, Target, Timestamp,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::{id, leases_of};
use windlass_testkit::redis::{Reply, Server, ServerOptions};

use crate::fixture::worker;
use crate::proxy::Proxy;
use crate::support::{open, queue, replicated, shared, with_options};

const LEASE: LeaseTime = LeaseTime::nearest(Duration::from_secs(300));

/// More than a busy machine needs to send a call again.
const TIMEOUT: &str = "timeout=60s";

/// Calls a verb twice, each time on a queue with the same jobs: the second reply, which is lost, is
/// the same as the first.
async fn assert_same_reply<T, F>(
    lost_text: &'static str,
    prepare: impl AsyncFn(Arc<dyn Store>, QueueName),
    verb: impl Fn(Arc<dyn Store>, QueueName) -> F,
) where
    T: Debug + PartialEq + Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let server = ServerOptions::new().tcp().start();
    let direct = shared(&server.url()).await;
    let expected = {
        prepare(Arc::clone(&direct), queue("q")).await;
        verb(Arc::clone(&direct), queue("q")).await.unwrap()
    };
    let proxy = Proxy::start(&server).await;
    let store = shared(&with_options(&proxy.url(), TIMEOUT)).await;
    // Others use the same queue.
    prepare(Arc::clone(&direct), queue("r")).await;
    let before = counts(&direct).await;

    proxy.lose_reply_with(lost_text);
    let call = tokio::spawn(verb(store, queue("r")));
    proxy.lost().await;
    let applied = counts(&direct).await;
    assert_ne!(applied, before, "the call was not applied");
    proxy.recover();

    assert_eq!(call.await.unwrap().unwrap(), expected);
    assert_eq!(counts(&direct).await, applied);
}

/// The stats of the second queue that do not depend on the time.
async fn counts(store: &Arc<dyn Store>) -> impl Debug + PartialEq {
    let stats = store.stats(&queue("r")).await.unwrap().unwrap();
    (
        [stats.ready, stats.scheduled, stats.running],
        [stats.dead, stats.cancelled, stats.bytes],
        stats.total,
    )
}

async fn enqueue(store: &dyn Store, q: &QueueName, jobs: Vec<NewJob>) {
    store.enqueue(q, jobs).await.unwrap();
}

fn waiting() -> Vec<NewJob> {
    let key = UniqueKey::new("key").unwrap();
    ["a", "b", "c"]
        .map(|name| NewJob::new("payload").id(id(name)))
        .into_iter()
        .chain([NewJob::new("other").id(id("d")).unique_key(key)])
        .collect()
}

fn ids() -> Target {
    Target::Ids(vec![id("a"), id("b"), id("unknown")])
}

fn filter(state: JobState) -> Target {
    Target::Filter(Filter {
        state: Some(state),
        ..Filter::default()
    })
}

async fn make_dead(store: Arc<dyn Store>, q: QueueName) {
    enqueue(&*store, &q, waiting()).await;
    let claim = store.claim(&q, ClaimRequest::single(9)).await.unwrap();
    let failures = leases_of(&claim.unwrap()).into_iter();
    let failures = failures.map(|lease| lease.failure("no").retry(Retry::Permanent));
    store.fail(&q, failures.collect()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_sent_again_returns_the_first_reply() {
    let key = Target::UniqueKey(UniqueKey::new("key").unwrap());
    let payload = Target::Payload("payload".into());
    for target in [ids(), key, payload, filter(JobState::Ready)] {
        assert_same_reply(
            "done",
            async |store, q| enqueue(&*store, &q, waiting()).await,
            move |store, q| {
                let target = target.clone();
                async move { store.change(&q, Change::Cancel, &target, None).await }
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_sent_again_returns_the_first_reply() {
    for target in [ids(), filter(JobState::Dead)] {
        assert_same_reply("done", make_dead, move |store, q| {
            let target = target.clone();
            async move { store.change(&q, Change::Retry, &target, None).await }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_sent_again_returns_the_first_reply() {
    for target in [ids(), filter(JobState::Dead)] {
        assert_same_reply("done", make_dead, move |store, q| {
            let target = target.clone();
            async move { store.change(&q, Change::Delete, &target, None).await }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promote_sent_again_returns_the_first_reply() {
    for target in [ids(), filter(JobState::Scheduled)] {
        assert_same_reply(
            "done",
            async |store, q| {
                let jobs = waiting().into_iter().map(|job| job.delay(LEASE.get()));
                enqueue(&*store, &q, jobs.collect()).await;
            },
            move |store, q| {
                let target = target.clone();
                async move { store.change(&q, Change::Promote, &target, None).await }
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_sent_again_returns_the_first_reply() {
    assert_same_reply(
        "*2\r\n:4\r\n:0\r\n",
        async |store, q| enqueue(&*store, &q, waiting()).await,
        |store, q| async move { store.purge(&q).await },
    )
    .await;
}

/// A worker with three jobs, whose id is the name of its queue.
async fn make_running(store: Arc<dyn Store>, q: QueueName) {
    let boot = boot_of(&q);
    store.register(worker(&boot, &q)).await.unwrap();
    enqueue(&*store, &q, waiting()).await;
    let request = ClaimRequest::worker(boot, 1, 3).lease(LEASE);
    store.claim(&q, request).await.unwrap().unwrap();
}

fn boot_of(q: &QueueName) -> BootId {
    BootId::new(q.as_str()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_leaves_returns_the_number_of_its_jobs_after_a_lost_reply() {
    assert_same_reply("*2\r\n:3\r\n:1\r\n", make_running, |store, q| async move {
        store.leave(&boot_of(&q), None).await
    })
    .await;
    assert_same_reply("*2\r\n:3\r\n:1\r\n", make_running, |store, q| async move {
        store.fail_worker(&boot_of(&q)).await
    })
    .await;
}

/// The reply to an enqueue of one ready job.
const STORED: &str = "*1\r\n$1\r\nr\r\n";

/// Another client completes the job before the store sends the enqueue again.
#[tokio::test(flavor = "multi_thread")]
async fn an_enqueue_sent_again_after_its_job_has_ended_makes_no_second_job() {
    let server = ServerOptions::new().tcp().start();
    assert_one_job(&server, TIMEOUT, DurabilityLevel::Memory).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_enqueue_sent_again_makes_no_second_job_and_waits_for_its_replica() {
    let (primary, _replicas) = replicated(1).await;
    let options = format!("durability=replicated:1&{TIMEOUT}");
    assert_one_job(&primary, &options, DurabilityLevel::Replicated(1)).await;
}

async fn assert_one_job(server: &Server, options: &str, level: DurabilityLevel) {
    let other = open(&server.url()).await;
    let proxy = Proxy::start(server).await;
    let store = open(&with_options(&proxy.url(), options)).await;
    let q = queue("q");
    let send = |job: NewJob| {
        let (store, q) = (store.clone(), q.clone());
        tokio::spawn(async move { store.enqueue(&q, vec![job]).await.unwrap().remove(0) })
    };
    send(NewJob::new("creates the queue")).await.unwrap();
    complete_next(&other, &q).await;

    for number in 2..4 {
        let job = NewJob::new("runs once");
        let accepted = Enqueued::Accepted {
            id: job.id.clone(),
            state: JobState::Ready,
            level,
        };
        proxy.lose_reply_with(STORED);
        let reply = send(job);
        proxy.lost().await;
        complete_next(&other, &q).await;
        proxy.recover();

        assert_eq!(reply.await.unwrap(), accepted);
        let stats = other.stats(&q).await.unwrap().unwrap();
        assert_eq!((stats.ready, stats.total.enqueued), (0, number));
    }
}

async fn complete_next(store: &impl Store, q: &QueueName) {
    let claim = store.claim(q, ClaimRequest::single(1)).await.unwrap();
    let leases = leases_of(&claim.expect("a job is ready")).into_iter();
    let done = leases.map(JobLease::completion).collect();
    store.complete(q, done, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_stored_before_the_queue_grew_is_not_stored_again() {
    const JOBS: u64 = 400;
    let server = ServerOptions::new().tcp().start();
    let (direct, q) = (shared(&server.url()).await, queue("q"));
    enqueue(&*direct, &q, Vec::new()).await;
    let proxy = Proxy::start(&server).await;
    let store = shared(&with_options(&proxy.url(), TIMEOUT)).await;
    store.stats(&q).await.unwrap();

    // Between the two pages of an enqueue, the jobs of the first end and the queue grows.
    proxy.delay_replies(Duration::from_secs(2));
    let jobs = (0..JOBS).map(|_| NewJob::new("payload")).collect();
    let sent_to = q.clone();
    let call = tokio::spawn(async move { store.enqueue(&sent_to, jobs).await });
    let mut ended = 0;
    while ended < JOBS / 2 {
        if let Some(claim) = direct.claim(&q, ClaimRequest::single(100)).await.unwrap() {
            let leases = leases_of(&claim);
            ended += leases.len() as u64;
            let done = leases.into_iter().map(JobLease::completion).collect();
            direct.complete(&q, done, None).await.unwrap();
        }
    }
    let grow = vec!["partitions=8".parse().unwrap()];
    direct.set(&q, grow).await.unwrap();
    proxy.delay_replies(Duration::ZERO);

    let enqueued = call.await.unwrap().unwrap();
    assert!(enqueued.iter().all(|job| !job.is_duplicate()));
    let stats = direct.stats(&q).await.unwrap().unwrap();
    assert_eq!((stats.total.enqueued, stats.ready), (JOBS, JOBS / 2));
}

/// Meanwhile the queue gets a second partition, to which the job would belong now.
#[tokio::test(flavor = "multi_thread")]
async fn an_enqueue_sent_again_to_a_queue_that_grew_makes_no_second_job() {
    let server = ServerOptions::new().tcp().start();
    let other = open(&server.url()).await;
    let proxy = Proxy::start(&server).await;
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let q = queue("q");
    enqueue(&store, &q, Vec::new()).await;
    proxy.lose_reply_with(STORED);
    let call = {
        let (store, q) = (store.clone(), q.clone());
        tokio::spawn(async move { store.enqueue(&q, vec![NewJob::new("runs once")]).await })
    };
    proxy.lost().await;
    complete_next(&other, &q).await;
    other
        .set(&q, vec!["partitions=8".parse().unwrap()])
        .await
        .unwrap();
    proxy.recover();

    assert!(!call.await.unwrap().unwrap()[0].is_duplicate());
    let stats = other.stats(&q).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.total.enqueued), (0, 1));
}

/// Each command line call is a client of its own: what the store remembers of them does not add up.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_clients_that_ended_are_forgotten() {
    let server = ServerOptions::new().tcp().start();
    let clock = Arc::new(ManualClock::new(Timestamp::from_ms(1_700_000_000_000)));
    let q = queue("q");
    let call_as_new_client = async || {
        let options = Options {
            clock: Some(clock.clone()),
            ..Options::default()
        };
        let store = RedisStore::open(&server.url(), options).await.unwrap();
        enqueue(&store, &q, vec![NewJob::new("")]).await;
        store.maintain(&q, 1).await.unwrap();
    };
    let remembered = || {
        let fields = server.command(&["HKEYS", "windlass:{q}:state"]);
        let fields = fields.array().iter().map(Reply::text);
        fields
            .filter(|field| field.starts_with('@') && field.len() > 1)
            .count()
    };
    for _ in 0..100 {
        call_as_new_client().await;
    }
    clock.advance(Duration::from_secs(600));
    call_as_new_client().await;
    assert_eq!(remembered(), 101, "a call may still be sent again");

    clock.advance(Duration::from_secs(600));
    for _ in 0..49 {
        call_as_new_client().await;
    }

    assert_eq!(remembered(), 50);
}

/// Two batches of one process are in flight and both replies are lost.
#[tokio::test(flavor = "multi_thread")]
async fn batches_in_flight_together_are_each_applied_once() {
    let server = ServerOptions::new().tcp().start();
    let other = open(&server.url()).await;
    let proxy = Proxy::start(&server).await;
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let q = queue("q");
    enqueue(&store, &q, Vec::new()).await;
    let mut expected = 0;
    for round in 0..20 {
        proxy.lose_reply_with(STORED);
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (store, q) = (store.clone(), q.clone());
                tokio::spawn(async move { store.enqueue(&q, vec![NewJob::new("once")]).await })
            })
            .collect();
        proxy.lost().await;
        while let Some(claim) = other.claim(&q, ClaimRequest::single(9)).await.unwrap() {
            let done = leases_of(&claim).into_iter().map(JobLease::completion);
            other.complete(&q, done.collect(), None).await.unwrap();
        }
        proxy.recover();
        for call in calls {
            assert!(!call.await.unwrap().unwrap()[0].is_duplicate(), "{round}");
        }
        expected += 8;
        let stats = other.stats(&q).await.unwrap().unwrap();
        assert_eq!(stats.total.enqueued, expected);
    }
}
