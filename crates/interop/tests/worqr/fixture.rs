//! A server of its own for each test, a peer on it, and other eyes than the peer's.

use std::time::Duration;

use windlass_interop::Server as Peer;
use windlass_interop::worqr::{Event, Layout, Lifetime, Listener, Process, Settings, Worqr};
use windlass_testkit::redis::{Reply, Server};

use super::ear::Ear;
use super::original::Original;

/// Longer than any test: a timer that only ends when a test ends it.
pub(crate) const LONG: Lifetime = Lifetime::Expiring(Duration::from_secs(3600));

pub(crate) struct Place {
    pub(crate) redis: Server,
    pub(crate) worqr: Worqr,
    pub(crate) layout: Layout,
}

impl Place {
    pub(crate) async fn new(settings: Settings) -> Self {
        let redis = Server::start();
        let layout = settings.layout;
        let worqr = peer(&redis, settings).await;
        Self {
            redis,
            worqr,
            layout,
        }
    }

    pub(crate) async fn released() -> Self {
        Self::new(Settings::default()).await
    }

    pub(crate) async fn document() -> Self {
        Self::new(Settings::document("")).await
    }

    pub(crate) fn original(&self, id: &str) -> Original {
        Original::new(&self.redis, "worqr", id)
    }

    pub(crate) fn ear(&self) -> Ear {
        Ear::open(&self.redis)
    }

    /// A worker that lives as long as the test and serves a queue.
    pub(crate) async fn worker(&self, id: &str, queue: &str) {
        self.worqr.start_worker(id, LONG).await.unwrap();
        self.worqr.start_work(id, queue).await.unwrap();
    }

    pub(crate) async fn start(&self, worker: &str, queue: &str) -> Process {
        let started = self.worqr.start_task(worker, queue).await.unwrap();
        started.unwrap_or_else(|| panic!("{queue} is empty"))
    }

    /// What waits in a queue, newest first.
    pub(crate) async fn waiting(&self, queue: &str) -> Vec<String> {
        let tasks = self.worqr.tasks(queue, 1000).await.unwrap();
        let text = |task: &bytes::Bytes| String::from_utf8(task.to_vec()).unwrap();
        tasks.iter().map(text).collect()
    }

    pub(crate) fn command(&self, line: &str) -> Reply {
        let words: Vec<&str> = line.split(' ').collect();
        self.redis.command(&words).ok()
    }

    /// Every key with its type, its content and whether it expires, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut lines: Vec<String> = texts(&self.redis.command(&["KEYS", "*"]))
            .iter()
            .map(|key| self.line(key))
            .collect();
        lines.sort();
        lines
    }

    fn line(&self, key: &str) -> String {
        let kind = self.redis.command(&["TYPE", key]).text();
        let content = match kind.as_str() {
            "list" => texts(&self.redis.command(&["LRANGE", key, "0", "-1"])).join(","),
            "zset" => texts(&self.redis.command(&["ZRANGE", key, "0", "-1"])).join(","),
            "set" => {
                let mut members = texts(&self.redis.command(&["SMEMBERS", key]));
                members.sort();
                members.join(",")
            }
            _ => format!("{:?}", self.redis.command(&["GET", key]).text()),
        };
        let expires = match self.redis.command(&["TTL", key]).integer() {
            -1 => "",
            3000..=3600 => " for an hour",
            _ => " expires",
        };
        format!("{key} {kind} {content}{expires}")
    }

    /// Asserts which keys there are; `{process}` stands for the name of the process.
    #[track_caller]
    pub(crate) fn has_keys(&self, process: Option<&Process>, expected: &[&str]) {
        let mut expected: Vec<String> = expected
            .iter()
            .map(|line| match process {
                Some(process) => line.replace("{process}", &process.id),
                None => (*line).to_owned(),
            })
            .collect();
        expected.sort();
        assert_eq!(self.keys(), expected);
    }
}

pub(crate) async fn peer(redis: &Server, settings: Settings) -> Worqr {
    let server = Peer::open(&redis.url()).await.unwrap();
    Worqr::new(&server, settings).unwrap()
}

/// What is heard next; nothing for a minute is a failure.
pub(crate) async fn next(listener: &mut Listener) -> Event {
    let minute = Duration::from_secs(60);
    let heard = tokio::time::timeout(minute, listener.next()).await;
    heard.expect("something is published")
}

pub(crate) fn texts(reply: &Reply) -> Vec<String> {
    reply.array().iter().map(|part| part.text()).collect()
}
