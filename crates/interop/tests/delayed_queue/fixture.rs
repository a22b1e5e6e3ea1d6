//! A dedicated server for each test, with a queue and direct access to its keys.

use std::time::Duration;

use windlass_core::{Due, Timestamp};
use windlass_interop::InteropServer;
use windlass_interop::delayed_queue::{DelayedJob, DelayedQueue, PREFIX};
use windlass_testkit::redis;

use crate::original::Original;

pub(crate) const NO_WAIT: Duration = Duration::ZERO;

/// In the past, so that the job is due.
pub(crate) const PAST: Due = Due::At(Timestamp::from_ms(1_000));

/// Later than any test runs, in seconds.
pub(crate) const FUTURE: u64 = 4_000_000_000;

pub(crate) struct Fixture {
    pub(crate) redis: redis::Server,
    pub(crate) queue: DelayedQueue,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let redis = redis::Server::start();
        let queue = queue_at(&redis.url()).await;
        Self { redis, queue }
    }

    pub(crate) fn original(&self) -> Original {
        Original::new(&self.redis)
    }

    pub(crate) fn command(&self, line: &str) -> redis::Reply {
        let args: Vec<&str> = line.split(' ').collect();
        self.redis.command(&args).ok()
    }

    /// Submits a due job with this payload and moves it to the line.
    pub(crate) async fn due(&self, payload: &str) -> String {
        let id = self.queue.submit(payload.to_owned(), PAST).await.unwrap();
        assert_eq!(self.queue.move_due().await.unwrap(), 1);
        id
    }

    pub(crate) async fn take(&self) -> DelayedJob {
        self.queue.take(NO_WAIT).await.unwrap().unwrap()
    }

    /// Returns the ids in the line, the next one first.
    pub(crate) fn line(&self) -> Vec<String> {
        let mut ids = self.ids("LRANGE", "dueJobs");
        ids.reverse();
        ids
    }

    pub(crate) fn unacked(&self) -> Vec<String> {
        self.ids("LRANGE", "unackedJobs")
    }

    pub(crate) fn backlog(&self) -> Vec<String> {
        self.ids("ZRANGE", "jobs")
    }

    fn ids(&self, command: &str, key: &str) -> Vec<String> {
        let reply = self.command(&format!("{command} {PREFIX}:{key} 0 -1"));
        reply.array().iter().map(redis::Reply::text).collect()
    }

    pub(crate) fn field(&self, id: &str, name: &str) -> Option<String> {
        match self.command(&format!("HGET {PREFIX}:job:{id} {name}")) {
            redis::Reply::Nil => None,
            value => Some(value.text()),
        }
    }

    /// Asserts that the server holds nothing any more.
    pub(crate) fn assert_empty(&self, why: &str) {
        let keys = self.command("KEYS *");
        let keys: Vec<_> = keys.array().iter().map(redis::Reply::text).collect();
        assert!(keys.is_empty(), "{why}: {keys:?}");
    }
}

/// Opens the queue. Unacknowledged jobs are returned by the second rescue: workers in these tests are dead.
pub(crate) async fn queue_at(url: &str) -> DelayedQueue {
    // Long enough for any busy machine.
    let server = InteropServer::open(&format!("{url}?timeout=60s")).await;
    DelayedQueue::new(server.unwrap(), PREFIX).with_unacked_for(Duration::ZERO)
}
