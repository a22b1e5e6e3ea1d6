//! A dedicated server for each test, with clients.

use windlass_interop::InteropServer;
use windlass_interop::blueque::{
    Blueque, BluequeLayout, BluequeListener, BluequeQueue, CleanOptions, ListenerOptions,
};
use windlass_testkit::redis::{Reply, Server};

/// Queue name in the tests.
pub(crate) const QUEUE: &str = "video";

/// An empty server.
pub(crate) struct Fixture {
    pub(crate) server: Server,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self {
            server: Server::start(),
        }
    }

    pub(crate) async fn blueque(&self, layout: BluequeLayout) -> Blueque {
        connect(&self.server.url(), layout).await
    }

    pub(crate) async fn queue(&self) -> BluequeQueue {
        let blueque = self.blueque(BluequeLayout::Released).await;
        blueque.queue(QUEUE).unwrap()
    }

    /// Sends one command, whose arguments contain no spaces.
    #[track_caller]
    pub(crate) fn redis(&self, line: &str) -> Reply {
        let args: Vec<_> = line.split_whitespace().collect();
        self.server.command(&args)
    }

    /// Returns a field of a task in the released layout.
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

    /// Returns all elements of a list, or members of a set or sorted set.
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

    /// Returns the recorded number of listeners.
    #[track_caller]
    pub(crate) fn recorded_listeners(&self) -> String {
        match self.redis(&format!("ZSCORE blueque_queues {QUEUE}")) {
            Reply::Nil => String::new(),
            reply => reply.text(),
        }
    }
}

pub(crate) async fn connect(url: &str, layout: BluequeLayout) -> Blueque {
    Blueque::new(InteropServer::open(url).await.unwrap(), layout)
}

#[track_caller]
pub(crate) fn texts(reply: Reply) -> Vec<String> {
    match reply {
        Reply::Array(items) => items.into_iter().map(|item| item.text()).collect(),
        other => panic!("not a list: {other:?}"),
    }
}

pub(crate) async fn join_listener(queue: &BluequeQueue) -> BluequeListener {
    queue.join(ListenerOptions::default()).await.unwrap()
}

/// Options with these listeners known to be dead, and a short settle time.
pub(crate) fn clean_options(lost: &[&str]) -> CleanOptions {
    let mut options = CleanOptions::default();
    options.lost = lost.iter().map(|name| (*name).to_owned()).collect();
    options.settle = std::time::Duration::from_millis(1);
    options
}
