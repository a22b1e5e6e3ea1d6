//! A server of its own for each test, with a queue on it, and other eyes to see its keys by.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_interop::Server;
use windlass_interop::redis_work_queue::{Item, Layout, WorkQueue};
use windlass_testkit::redis::{self, ServerOptions};

/// Of every queue in these tests.
pub(crate) const PREFIX: &str = "p";

/// Longer than any test lasts.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// Not to wait.
pub(crate) const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

pub(crate) const LAYOUTS: [Layout; 2] = [Layout::V01, Layout::V03];

/// A server and the layout of the keys on it.
pub(crate) struct Bench {
    pub(crate) server: redis::Server,
    pub(crate) layout: Layout,
}

impl Bench {
    pub(crate) fn start(layout: Layout) -> Self {
        // The real clients know ports only.
        let server = ServerOptions::new().tcp().start();
        Self { server, layout }
    }

    /// Ours, in a session of its own. Its cleans do not wait: clients here are dead or done.
    pub(crate) async fn queue(&self) -> WorkQueue {
        self.queue_at(&self.server.url()).await
    }

    /// The same, with items that wait.
    pub(crate) async fn queue_of(&self, ids: &[&str]) -> WorkQueue {
        let queue = self.queue().await;
        for id in ids {
            queue.add_item(&item(id)).await.unwrap();
        }
        queue
    }

    pub(crate) async fn queue_at(&self, url: &str) -> WorkQueue {
        // No machine is so busy that a call fails for that.
        let url = format!("{url}?timeout=60s");
        let server = Server::open(&url).await.unwrap();
        WorkQueue::new(server, PREFIX, self.layout).with_grace(Duration::ZERO)
    }

    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let reply = self.command(&["LRANGE", &format!("{PREFIX}:{name}"), "0", "-1"]);
        reply.array().iter().map(|id| id.text()).collect()
    }

    pub(crate) fn lease_key(&self, id: &str) -> String {
        let name = match self.layout {
            Layout::V01 => "leased_by_session",
            Layout::V03 => "lease",
        };
        format!("{PREFIX}:{name}:{id}")
    }

    /// What the end of a lease does, without the wait.
    pub(crate) fn end_lease(&self, id: &str) {
        self.command(&["DEL", &self.lease_key(id)]);
    }

    pub(crate) fn end_leases(&self) {
        let pattern = self.lease_key("*");
        for key in self.command(&["KEYS", &pattern]).array() {
            self.command(&["DEL", &key.text()]);
        }
    }

    pub(crate) fn command(&self, words: &[&str]) -> redis::Reply {
        self.server.command(words).ok()
    }

    /// How often every id is in which list, and whether it has data.
    pub(crate) fn places(&self) -> BTreeMap<String, Place> {
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for id in self.list("queue") {
            places.entry(id).or_default().queue += 1;
        }
        for id in self.list("processing") {
            places.entry(id).or_default().processing += 1;
        }
        for id in self.list("cleaning") {
            places.entry(id).or_default().cleaning += 1;
        }
        let prefix = format!("{PREFIX}:item:");
        for key in self.command(&["KEYS", &format!("{prefix}*")]).array() {
            let id = key.text().split_off(prefix.len());
            places.entry(id).or_default().has_data = true;
        }
        places
    }

    /// Everything that has data is in one list, and everything in a list has data.
    pub(crate) fn assert_sound(&self, why: &str) {
        for (id, place) in self.places() {
            let is_sound =
                place.has_data && place.queue + place.processing == 1 && place.cleaning == 0;
            assert!(is_sound, "{why}: {id} is at {place:?}");
        }
    }
}

/// Where an id is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) queue: usize,
    pub(crate) processing: usize,
    pub(crate) cleaning: usize,
    pub(crate) has_data: bool,
}

pub(crate) fn item(id: &str) -> Item {
    Item::with_id(id, format!("data of {id}"))
}

/// Leases everything that waits, in order.
pub(crate) async fn lease_all(queue: &WorkQueue) -> Vec<Item> {
    let mut items = Vec::new();
    while let Some(item) = queue.lease(LONG, AT_ONCE).await.unwrap() {
        items.push(item);
    }
    items
}

pub(crate) fn ids(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.id.as_str()).collect()
}
