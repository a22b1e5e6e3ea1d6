//! A server for both the older system and the store, and bridges between them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{Filter, Job, QueueName, Store};
use windlass_interop::bridge::{Bridge, BridgeReport, BridgeSource};
use windlass_interop::delayed_queue::PREFIX;
use windlass_interop::worqr::{Worqr, WorqrSettings};
use windlass_interop::{InteropServer, inspect};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis;

pub(crate) struct Fixture {
    pub(crate) redis: redis::Server,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) queue: QueueName,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let redis = redis::Server::start();
        Self {
            store: open_store(&redis.url()).await,
            redis,
            queue: QueueName::new("new").unwrap(),
        }
    }

    pub(crate) fn command(&self, line: &str) -> redis::Reply {
        let args: Vec<&str> = line.split(' ').collect();
        self.redis.command(&args).ok()
    }

    /// Opens a bridge on a server or a proxy before it.
    pub(crate) async fn bridge_at(&self, url: &str, source: &BridgeSource) -> Bridge {
        let server = InteropServer::open(&with_timeout(url)).await.unwrap();
        let (store, queue) = (open_store(url).await, self.queue.clone());
        let bridge = Bridge::open(&server, source.clone(), store, queue).await;
        bridge.unwrap()
    }

    pub(crate) async fn worqr(&self) -> Worqr {
        let server = InteropServer::open(&self.redis.url()).await.unwrap();
        Worqr::new(&server, WorqrSettings::default()).unwrap()
    }

    /// Migrates everything with a new bridge.
    pub(crate) async fn migrate(&self, source: &BridgeSource) -> BridgeReport {
        let mut bridge = self.bridge_at(&self.redis.url(), source).await;
        bridge.drain().await.unwrap();
        bridge.close().await.unwrap()
    }

    /// Returns all jobs of the queue.
    pub(crate) async fn jobs(&self) -> BTreeMap<String, Job> {
        let all = Filter::default();
        let page = self.store.list(&self.queue, &all, None, 500);
        let mut jobs = BTreeMap::new();
        for job in page.await.unwrap().items {
            let whole = self.store.get(&self.queue, &job.id).await.unwrap();
            jobs.insert(job.id.to_string(), whole.unwrap());
        }
        jobs
    }

    /// Number of jobs waiting or running in the older systems.
    pub(crate) async fn left(&self) -> u64 {
        let server = InteropServer::open(&self.redis.url()).await.unwrap();
        let queues = inspect::find_queues(&server).await.unwrap();
        let count = queues.iter().map(|queue| queue.waiting + queue.running);
        count.sum()
    }
}

pub(crate) fn payload(job: &Job) -> String {
    String::from_utf8(job.payload.clone().unwrap().to_vec()).unwrap()
}

/// Workers in these tests are dead: the time after which they count as dead is zero.
pub(crate) fn processor() -> BridgeSource {
    BridgeSource::Processor {
        queue: "encode".to_owned(),
        silence: Duration::ZERO,
    }
}

pub(crate) fn delayed_queue() -> BridgeSource {
    BridgeSource::DelayedQueue {
        prefix: PREFIX.to_owned(),
        unacked_for: Duration::ZERO,
    }
}

async fn open_store(url: &str) -> Arc<dyn Store> {
    let store = RedisStore::open(&with_timeout(url), Options::default()).await;
    Arc::new(store.unwrap())
}

/// Long enough for any busy machine.
fn with_timeout(url: &str) -> String {
    format!("{url}?timeout=60s")
}
