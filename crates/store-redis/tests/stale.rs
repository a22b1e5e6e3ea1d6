//! Stale entries: entries of the ready lists whose job was cancelled. However many there are, each
//! script call reads a bounded number of them, and claims and maintenance drop what they read.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use std::time::Duration;

use windlass_core::store::{Kind, Maintained};
use windlass_core::{
    Change, ClaimRequest, Filter, JobId, JobState, NewJob, Priority, QueueName, Store, Target,
};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::named;
use windlass_testkit::paging;
use windlass_testkit::redis::Server;

/// More than one script call reads.
const MANY: usize = 12_000;

struct Fixture {
    server: Server,
    store: RedisStore,
    queue: QueueName,
}

impl Fixture {
    async fn open() -> Self {
        let server = Server::start();
        let store = RedisStore::open(&server.url(), Options::default()).await;
        Self {
            store: store.unwrap(),
            server,
            queue: QueueName::new("q").unwrap(),
        }
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) {
        for batch in jobs.chunks(1000) {
            self.store
                .enqueue(&self.queue, batch.to_vec())
                .await
                .unwrap();
        }
    }

    /// Enqueues jobs `{prefix}{n}` of a kind.
    async fn enqueue_many(&self, prefix: &str, kind: &str, count: usize) {
        let kind = Kind::new(kind).unwrap();
        let job = |n| named(&format!("{prefix}{n:06}")).kind(kind.clone());
        self.enqueue((0..count).map(job).collect()).await;
    }

    /// Cancels all jobs of a kind.
    async fn cancel(&self, kind: &str) {
        let target = Target::Filter(Filter {
            state: Some(JobState::Ready),
            kind: Some(Kind::new(kind).unwrap()),
            ..Filter::default()
        });
        let mut from = None;
        loop {
            let page = self
                .store
                .change(&self.queue, Change::Cancel, &target, from)
                .await;
            from = page.unwrap().next;
            if from.is_none() {
                break;
            }
        }
    }

    /// Runs maintenance until there is nothing to do. Returns what it did, and in how many calls.
    async fn maintain(&self) -> (Maintained, usize) {
        let mut done = Maintained::default();
        for calls in 1.. {
            let page = self.store.maintain(&self.queue, 100).await.unwrap();
            if page.is_idle() {
                return (done, calls);
            }
            done.add(page);
        }
        unreachable!("the loop ends");
    }

    async fn stale(&self) -> u64 {
        let stats = self.store.stats(&self.queue).await.unwrap().unwrap();
        stats.stale_entries
    }

    async fn ready(&self) -> Vec<String> {
        let filter = Filter {
            state: Some(JobState::Ready),
            ..Filter::default()
        };
        let jobs = paging::list(&self.store, &self.queue, &filter, 500).await;
        jobs.unwrap().iter().map(|job| job.id.to_string()).collect()
    }

    /// Claims one job. Returns its id, and in how many script calls.
    async fn claim(&self, wait: Duration) -> (Option<JobId>, usize) {
        self.server.command(&["CONFIG", "RESETSTAT"]).ok();
        let mut request = ClaimRequest::single(1);
        let claim = self
            .store
            .claim_waiting(&self.queue, &mut request, wait)
            .await;
        let id = claim.unwrap().map(|claim| claim.jobs[0].id.clone());
        (id, self.script_calls())
    }

    /// Script calls since the last `CONFIG RESETSTAT`.
    fn script_calls(&self) -> usize {
        let stats = self.server.command(&["INFO", "commandstats"]).ok().text();
        let calls = stats.lines().find_map(|line| {
            let calls = line.strip_prefix("cmdstat_evalsha:calls=")?;
            calls.split(',').next()?.parse().ok()
        });
        calls.unwrap()
    }

    fn length(&self, command: &str, key: &str) -> i64 {
        let key = format!("windlass:{{q}}:{key}");
        self.server.command(&[command, &key]).ok().integer()
    }
}

fn id(text: &str) -> JobId {
    JobId::new(text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_of_cancelled_jobs_is_dropped_at_once() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", MANY).await;
    test.enqueue(vec![
        named("urgent")
            .priority(Priority::new(1).unwrap())
            .kind(Kind::new("wrong").unwrap()),
    ])
    .await;
    test.cancel("wrong").await;
    assert_eq!(test.stale().await, MANY as u64 + 1);

    let (done, _) = test.maintain().await;

    assert_eq!(done.stale, MANY as u64 + 1);
    assert_eq!(test.stale().await, 0);
    assert_eq!(test.length("LLEN", "ready:5"), 0);
    assert_eq!(test.length("HLEN", "ghosts"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_behind_cancelled_jobs_takes_few_script_calls() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", MANY).await;
    test.enqueue_many("b", "right", 2).await;
    test.cancel("wrong").await;

    let (claimed, calls) = test.claim(Duration::ZERO).await;

    assert_eq!(claimed, Some(id("b000000")));
    assert!(calls <= 3, "{calls} script calls");
    assert_eq!(test.stale().await, 0);
    assert_eq!(test.ready().await, ["b000001"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_goes_on_behind_cancelled_jobs() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", MANY).await;
    test.enqueue_many("b", "right", MANY).await;
    test.cancel("wrong").await;

    let (claimed, calls) = test.claim(Duration::from_secs(60)).await;

    assert_eq!(claimed, Some(id("b000000")));
    assert!(calls <= 7, "{calls} script calls");
    let pops = test.server.command(&["INFO", "commandstats"]).ok().text();
    assert!(!pops.contains("cmdstat_blpop"), "it does not wait: {pops}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maintenance_drops_all_entries_before_and_after_the_ready_jobs() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", MANY).await;
    test.enqueue_many("b", "right", MANY).await;
    test.enqueue_many("c", "wrong", MANY).await;
    test.cancel("wrong").await;

    let (done, calls) = test.maintain().await;

    assert_eq!(done.stale, 2 * MANY as u64);
    assert!(calls <= 12, "{calls} calls");
    assert_eq!(test.stale().await, 0);
    assert_eq!(test.length("HLEN", "ghosts"), 0);
    let expected: Vec<_> = (0..MANY).map(|n| format!("b{n:06}")).collect();
    assert_eq!(test.ready().await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_between_ready_jobs_are_dropped_by_the_claims_that_read_them() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "right", 1).await;
    test.enqueue_many("b", "wrong", MANY).await;
    test.enqueue_many("c", "right", 1).await;
    test.cancel("wrong").await;
    test.maintain().await;
    assert_eq!(test.ready().await, ["a000000", "c000000"]);

    assert_eq!(test.claim(Duration::ZERO).await.0, Some(id("a000000")));
    let (claimed, calls) = test.claim(Duration::ZERO).await;

    assert_eq!(claimed, Some(id("c000000")));
    assert!(calls <= 4, "{calls} script calls");
    assert_eq!(test.stale().await, 0);
    assert_eq!(test.claim(Duration::ZERO).await.0, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_with_several_stale_entries_is_dropped_as_often_and_stays_ready() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", 300).await;
    for _ in 0..3 {
        test.cancel("wrong").await;
        let target = Target::Filter(Filter {
            state: Some(JobState::Cancelled),
            ..Filter::default()
        });
        test.store
            .change(&test.queue, Change::Delete, &target, None)
            .await
            .unwrap();
        test.enqueue_many("a", "wrong", 300).await;
    }
    assert_eq!(test.stale().await, 900);

    let (claimed, _) = test.claim(Duration::ZERO).await;

    assert_eq!(claimed, Some(id("a000000")));
    assert_eq!(test.stale().await, 0);
    assert_eq!(test.ready().await.len(), 299);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_behind_cancelled_jobs_takes_few_script_calls() {
    let test = Fixture::open().await;
    test.enqueue_many("a", "wrong", MANY).await;
    test.enqueue_many("b", "right", 2).await;
    test.cancel("wrong").await;
    test.server.command(&["CONFIG", "RESETSTAT"]).ok();

    let removed = test.store.purge(&test.queue).await.unwrap();

    assert_eq!(removed, 2);
    assert!(
        test.script_calls() <= 3,
        "{} script calls",
        test.script_calls()
    );
    assert_eq!(test.stale().await, 0);
}
