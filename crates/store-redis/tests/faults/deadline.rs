//! A call has one deadline, however many script calls it needs.

use std::time::{Duration, Instant};

use windlass_core::{Change, Due, JobLease, NewJob, QueueName, Result, Store, Target, Token};
use windlass_store_redis::RedisStore;
use windlass_testkit::fixture::id;
use windlass_testkit::redis::ServerOptions;

use crate::proxy::Proxy;
use crate::support::{blocking, open, queue, with_options};

/// Ten script calls.
const JOBS: usize = 2_000;

/// The deadline has passed before the fourth reply.
const DELAY: Duration = Duration::from_millis(300);

const TIMEOUT: &str = "timeout=1s";

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_an_enqueue_share_one_deadline() {
    let server = blocking(|| ServerOptions::new().tcp().start()).await;
    let (proxy, store, q) = slow_store(&server).await;
    proxy.delay_replies(Duration::from_secs(60));

    let jobs = (0..JOBS).map(|_| NewJob::new("a job")).collect();
    let stored = timed("enqueue", store.enqueue(&q, jobs)).await;

    // They are stored and the call does not say that nothing was done.
    assert!(stored.map(drop).unwrap_err().is_unknown());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_outcomes_and_changes_share_one_deadline() {
    let server = blocking(|| ServerOptions::new().tcp().start()).await;
    let (proxy, store, q) = slow_store(&server).await;
    proxy.delay_replies(Duration::ZERO);
    for verb in VERBS {
        // The server has the script now.
        verb.call(&store, &q, 1).await.unwrap();
    }
    proxy.delay_replies(DELAY);
    for verb in VERBS {
        let called = timed(&format!("{verb:?}"), verb.call(&store, &q, JOBS)).await;
        assert!(called.unwrap_err().is_unknown(), "{verb:?}");
    }
}

const VERBS: [Verb; 5] = [
    Verb::Complete,
    Verb::Fail,
    Verb::Release,
    Verb::Snooze,
    Verb::Cancel,
];

#[derive(Debug, Clone, Copy)]
enum Verb {
    Complete,
    Fail,
    Release,
    Snooze,
    Cancel,
}

impl Verb {
    /// Calls the verb for jobs that do not exist.
    async fn call(self, store: &RedisStore, q: &QueueName, count: usize) -> Result<()> {
        let ids = (0..count).map(|n| id(&format!("job-{n}")));
        let token: Token = "1790000000000000-00000001".parse().unwrap();
        let leases = ids.clone().map(|id| JobLease::new(id, token));
        match self {
            Self::Complete => {
                let completions = leases.map(JobLease::completion).collect();
                store.complete(q, completions, None).await.map(drop)
            }
            Self::Fail => {
                let failures = leases.map(|lease| lease.failure("no")).collect();
                store.fail(q, failures).await.map(drop)
            }
            Self::Release => store.release(q, leases.collect()).await.map(drop),
            Self::Snooze => {
                let snoozes = leases.map(|lease| lease.snooze(Due::Now)).collect();
                store.snooze(q, snoozes).await.map(drop)
            }
            Self::Cancel => {
                let target = Target::Ids(ids.collect());
                store
                    .change(q, Change::Cancel, &target, None)
                    .await
                    .map(drop)
            }
        }
    }
}

/// A store whose server replies late.
async fn slow_store(server: &windlass_testkit::redis::Server) -> (Proxy, RedisStore, QueueName) {
    let proxy = Proxy::start(server).await;
    let store = open(&with_options(&proxy.url(), TIMEOUT)).await;
    let q = queue("q");
    store.enqueue(&q, vec![NewJob::new("first")]).await.unwrap();
    proxy.delay_replies(DELAY);
    (proxy, store, q)
}

async fn timed<T>(verb: &str, call: impl Future<Output = Result<T>>) -> Result<T> {
    let started = Instant::now();
    let result = call.await;
    println!("{verb}: {:?} for {JOBS} jobs", started.elapsed());
    result
}
