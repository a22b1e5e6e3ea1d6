//! A server of its own for each test, and who speaks to it.

use windlass_interop::Server as Opened;
use windlass_interop::blueque::{Blueque, CleanOptions, Layout, Listener, ListenerOptions, Queue};
use windlass_testkit::redis::{Reply, Server};

/// The queue of the tests.
pub(crate) const QUEUE: &str = "video";

/// A server with nothing in it.
pub(crate) struct Place {
    pub(crate) server: Server,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            server: Server::start(),
        }
    }

    pub(crate) async fn blueque(&self, layout: Layout) -> Blueque {
        at(&self.server.url(), layout).await
    }

    pub(crate) async fn queue(&self) -> Queue {
        let blueque = self.blueque(Layout::Released).await;
        blueque.queue(QUEUE).unwrap()
    }

    /// Sends one command; its words have no spaces in them.
    #[track_caller]
    pub(crate) fn redis(&self, line: &str) -> Reply {
        let words: Vec<_> = line.split_whitespace().collect();
        self.server.command(&words)
    }

    /// The field of a task as released.
    #[track_caller]
    pub(crate) fn field(&self, id: &str, name: &str) -> Option<String> {
        self.hash(&format!("blueque_task_{id}"), name)
    }

    #[track_caller]
    pub(crate) fn hash(&self, key: &str, name: &str) -> Option<String> {
        match self.redis(&format!("HGET {key} {name}")) {
            Reply::Nil => None,
            reply => Some(reply.text()),
        }
    }

    /// All elements of a list, or members of a set or of a sorted set.
    #[track_caller]
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        let command = match self.redis(&format!("TYPE {key}")).text().as_str() {
            "none" => return Vec::new(),
            "set" => format!("SMEMBERS {key}"),
            "zset" => format!("ZRANGE {key} 0 -1"),
            _ => format!("LRANGE {key} 0 -1"),
        };
        texts(self.redis(&command))
    }

    /// The figure of a queue.
    #[track_caller]
    pub(crate) fn figure(&self) -> String {
        match self.redis(&format!("ZSCORE blueque_queues {QUEUE}")) {
            Reply::Nil => String::new(),
            reply => reply.text(),
        }
    }
}

pub(crate) async fn at(url: &str, layout: Layout) -> Blueque {
    Blueque::new(Opened::open(url).await.unwrap(), layout)
}

#[track_caller]
pub(crate) fn texts(reply: Reply) -> Vec<String> {
    match reply {
        Reply::Array(items) => items.into_iter().map(|item| item.text()).collect(),
        other => panic!("not a list: {other:?}"),
    }
}

pub(crate) async fn joined(queue: &Queue) -> Listener {
    queue.join(ListenerOptions::default()).await.unwrap()
}

/// A clean that knows these listeners to be dead, and is in no hurry for nobody.
pub(crate) fn knowing(lost: &[&str]) -> CleanOptions {
    let mut options = CleanOptions::default();
    options.lost = lost.iter().map(|name| (*name).to_owned()).collect();
    options.settle = std::time::Duration::from_millis(1);
    options
}
