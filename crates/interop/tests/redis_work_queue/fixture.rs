//! A dedicated server for each test, with a queue and direct access to its keys.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_interop::InteropServer;
use windlass_interop::redis_work_queue::{Item, WorkQueue, WorkQueueLayout};
use windlass_testkit::redis::{self, ServerOptions};

/// Key prefix of all queues in these tests.
pub(crate) const PREFIX: &str = "p";

/// Longer than any test runs.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Do not wait.
pub(crate) const NO_WAIT: Option<Duration> = Some(Duration::ZERO);

pub(crate) const LAYOUTS: [WorkQueueLayout; 2] = [WorkQueueLayout::V01, WorkQueueLayout::V03];

/// A server and the layout of the keys on it.
pub(crate) struct Fixture {
    pub(crate) server: redis::Server,
    pub(crate) layout: WorkQueueLayout,
}

impl Fixture {
    pub(crate) fn start(layout: WorkQueueLayout) -> Self {
        // The real clients support only TCP.
        let server = ServerOptions::new().tcp().start();
        Self { server, layout }
    }

    /// Opens the queue in a new session, without a grace period: clients in these tests are dead or done.
    pub(crate) async fn queue(&self) -> WorkQueue {
        self.queue_at(&self.server.url()).await
    }

    /// Opens the queue and adds items.
    pub(crate) async fn queue_of(&self, ids: &[&str]) -> WorkQueue {
        let queue = self.queue().await;
        for id in ids {
            queue.add_item(&item(id)).await.unwrap();
        }
        queue
    }

    pub(crate) async fn queue_at(&self, url: &str) -> WorkQueue {
        // Long enough for any busy machine.
        let url = format!("{url}?timeout=60s");
        let server = InteropServer::open(&url).await.unwrap();
        WorkQueue::new(server, PREFIX, self.layout).with_grace(Duration::ZERO)
    }

    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let reply = self.command(&["LRANGE", &format!("{PREFIX}:{name}"), "0", "-1"]);
        reply.array().iter().map(|id| id.text()).collect()
    }

    pub(crate) fn lease_key(&self, id: &str) -> String {
        let name = match self.layout {
            WorkQueueLayout::V01 => "leased_by_session",
            WorkQueueLayout::V03 => "lease",
        };
        format!("{PREFIX}:{name}:{id}")
    }

    /// Expires a lease without waiting.
    pub(crate) fn end_lease(&self, id: &str) {
        self.command(&["DEL", &self.lease_key(id)]);
    }

    pub(crate) fn end_leases(&self) {
        let pattern = self.lease_key("*");
        for key in self.command(&["KEYS", &pattern]).array() {
            self.command(&["DEL", &key.text()]);
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> redis::Reply {
        self.server.command(args).ok()
    }

    /// Returns how often each id is in each list, and whether it has data.
    pub(crate) fn locations(&self) -> BTreeMap<String, Location> {
        let mut locations: BTreeMap<String, Location> = BTreeMap::new();
        for id in self.list("queue") {
            locations.entry(id).or_default().queue += 1;
        }
        for id in self.list("processing") {
            locations.entry(id).or_default().processing += 1;
        }
        for id in self.list("cleaning") {
            locations.entry(id).or_default().cleaning += 1;
        }
        let prefix = format!("{PREFIX}:item:");
        for key in self.command(&["KEYS", &format!("{prefix}*")]).array() {
            let id = key.text().split_off(prefix.len());
            locations.entry(id).or_default().has_data = true;
        }
        locations
    }

    /// Asserts that each item with data is in exactly one list, and each listed id has data.
    pub(crate) fn assert_consistent(&self, why: &str) {
        for (id, location) in self.locations() {
            let is_consistent = location.has_data
                && location.queue + location.processing == 1
                && location.cleaning == 0;
            assert!(is_consistent, "{why}: {id} is at {location:?}");
        }
    }
}

/// How often an id is in each list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) queue: usize,
    pub(crate) processing: usize,
    pub(crate) cleaning: usize,
    pub(crate) has_data: bool,
}

pub(crate) fn item(id: &str) -> Item {
    Item::with_id(id, format!("data of {id}"))
}

/// Leases all waiting items, in order.
pub(crate) async fn lease_all(queue: &WorkQueue) -> Vec<Item> {
    let mut items = Vec::new();
    while let Some(item) = queue.lease(LONG, NO_WAIT).await.unwrap() {
        items.push(item);
    }
    items
}

pub(crate) fn ids(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}
