//! Script calls stay within their bounds at any number of waiters and any size of payloads, and
//! nothing beyond a bound is forgotten.

#![expect(clippy::unwrap_used, reason = "a test fails at the first error")]

use windlass_core::store::ChangedJob;
use windlass_core::{Change, NewJob, QueueName, Store, Target};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::fixture::numbered;
use windlass_testkit::redis::{Reply, Server};

/// The position of the time until which a claim waits, in the stats of a queue.
const WAITERS_UNTIL: usize = 15;

/// A time in the far future, in milliseconds.
const FAR: u64 = 9_000_000_000_000;

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
        self.store.enqueue(&self.queue, jobs).await.unwrap();
    }

    /// Registers waiting claims, as many processes would.
    fn add_waiters(&self, count: usize) {
        let (sleepers, until) = (key("sleepers"), FAR.to_string());
        for n in 0..count {
            let command = ["ZADD", &sleepers, &until, &format!("waiter{n}")];
            self.server.command(&command).ok();
        }
        let state = key("state");
        let Reply::Bulk(mut stats) = self.server.command(&["HGET", &state, "figures"]).ok() else {
            panic!("the queue has stats");
        };
        let number = 9.0e12_f64.to_le_bytes();
        stats[8 * (WAITERS_UNTIL - 1)..8 * WAITERS_UNTIL].copy_from_slice(&number);
        let command: [&[u8]; 4] = [b"HSET", state.as_bytes(), b"figures", &stats];
        self.server.command(&command).ok();
    }

    fn waiters(&self) -> i64 {
        self.server
            .command(&["ZCARD", &key("sleepers")])
            .ok()
            .integer()
    }

    fn wake_ups(&self) -> i64 {
        self.server.command(&["LLEN", &key("wake")]).ok().integer()
    }

    /// How often scripts called a command since the last `CONFIG RESETSTAT`.
    fn calls(&self, command: &str) -> usize {
        let stats = self.server.command(&["INFO", "commandstats"]).ok().text();
        let prefix = format!("cmdstat_{command}:calls=");
        let calls = stats.lines().find_map(|line| line.strip_prefix(&prefix));
        let number = calls.and_then(|calls| calls.split(',').next());
        number.map_or(0, |number| number.parse().unwrap())
    }

    /// Cancels all jobs with this payload. Returns them, and the number of pages.
    async fn cancel(&self, payload: Vec<u8>) -> (Vec<ChangedJob>, usize) {
        let target = Target::Payload(payload.into());
        let (mut changed, mut from, mut pages) = (Vec::new(), None, 0);
        loop {
            pages += 1;
            let page = self
                .store
                .change(&self.queue, Change::Cancel, &target, from)
                .await
                .unwrap();
            changed.extend(page.items);
            from = page.next;
            if from.is_none() {
                return (changed, pages);
            }
        }
    }
}

fn key(name: &str) -> String {
    format!("windlass:{{q}}:{name}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_queue_wakes_a_waiter_for_each_job() {
    let test = Fixture::open().await;
    test.store.set_paused(&test.queue, true).await.unwrap();
    test.enqueue(numbered(1_200)).await;
    test.add_waiters(1_100);

    test.store.set_paused(&test.queue, false).await.unwrap();

    assert_eq!((test.waiters(), test.wake_ups()), (0, 1_100));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_that_no_job_was_for_are_woken_by_the_next() {
    let test = Fixture::open().await;
    test.store.set_paused(&test.queue, true).await.unwrap();
    test.enqueue(numbered(600)).await;
    test.add_waiters(1_100);

    test.store.set_paused(&test.queue, false).await.unwrap();
    test.enqueue(vec![NewJob::new("one more")]).await;

    assert_eq!((test.waiters(), test.wake_ups()), (499, 601));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_by_payload_reads_only_payloads_of_the_same_length() {
    let test = Fixture::open().await;
    test.enqueue((0..100).map(|n| NewJob::new(vec![b'x'; n])).collect())
        .await;
    test.server.command(&["CONFIG", "RESETSTAT"]).ok();

    let (changed, _) = test.cancel(vec![b'y'; 200]).await;

    assert_eq!(changed, []);
    let reads = test.calls("hget");
    assert!(reads < 10, "{reads} reads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_by_payload_reads_four_mebibytes_per_script_call_at_most() {
    let test = Fixture::open().await;
    let payload = |n: u8| vec![n; 1024 * 1024];
    for n in 0..12 {
        test.enqueue(vec![NewJob::new(payload(n % 3))]).await;
    }

    let (changed, pages) = test.cancel(payload(1)).await;

    assert_eq!(changed.len(), 4);
    assert!(pages >= 3, "{pages} pages for 12 MiB");
}
