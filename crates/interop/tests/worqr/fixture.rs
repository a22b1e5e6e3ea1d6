//! A dedicated server for each test, with a client and direct access to its keys.

use std::time::Duration;

use windlass_interop::InteropServer;
use windlass_interop::worqr::{
    Lifetime, Process, Worqr, WorqrEvent, WorqrLayout, WorqrListener, WorqrSettings,
};
use windlass_testkit::redis::{Reply, Server};

use super::original::Original;
use super::subscriber::Subscriber;

/// Longer than any test: the timer ends only if a test deletes it.
pub(crate) const LONG: Lifetime = Lifetime::Expiring(Duration::from_secs(3600));

pub(crate) struct Fixture {
    pub(crate) redis: Server,
    pub(crate) worqr: Worqr,
    pub(crate) layout: WorqrLayout,
}

impl Fixture {
    pub(crate) async fn new(settings: WorqrSettings) -> Self {
        let redis = Server::start();
        let layout = settings.layout;
        let worqr = connect(&redis, settings).await;
        Self {
            redis,
            worqr,
            layout,
        }
    }

    pub(crate) async fn released() -> Self {
        Self::new(WorqrSettings::default()).await
    }

    pub(crate) async fn document() -> Self {
        Self::new(WorqrSettings::document("")).await
    }

    pub(crate) fn original(&self, id: &str) -> Original {
        Original::new(&self.redis, "worqr", id)
    }

    pub(crate) fn subscriber(&self) -> Subscriber {
        Subscriber::open(&self.redis)
    }

    /// Starts a worker that stays alive during the test and serves a queue.
    pub(crate) async fn worker(&self, id: &str, queue: &str) {
        self.worqr.start_worker(id, LONG).await.unwrap();
        self.worqr.start_work(id, queue).await.unwrap();
    }

    pub(crate) async fn start(&self, worker: &str, queue: &str) -> Process {
        let started = self.worqr.start_task(worker, queue).await.unwrap();
        started.unwrap_or_else(|| panic!("{queue} is empty"))
    }

    /// Returns the waiting tasks of a queue, newest first.
    pub(crate) async fn waiting(&self, queue: &str) -> Vec<String> {
        let tasks = self.worqr.tasks(queue, 1000).await.unwrap();
        let text = |task: &bytes::Bytes| String::from_utf8(task.to_vec()).unwrap();
        tasks.iter().map(text).collect()
    }

    pub(crate) fn command(&self, line: &str) -> Reply {
        let args: Vec<&str> = line.split(' ').collect();
        self.redis.command(&args).ok()
    }

    /// Returns every key with its type, content and expiry, sorted.
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

    /// Asserts that exactly these keys exist; `{process}` stands for the process id.
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

pub(crate) async fn connect(redis: &Server, settings: WorqrSettings) -> Worqr {
    let server = InteropServer::open(&redis.url()).await.unwrap();
    Worqr::new(&server, settings).unwrap()
}

/// Returns the next event. Fails after a minute.
pub(crate) async fn next(listener: &mut WorqrListener) -> WorqrEvent {
    let minute = Duration::from_secs(60);
    let event = tokio::time::timeout(minute, listener.next()).await;
    event.expect("an event is published")
}

pub(crate) fn texts(reply: &Reply) -> Vec<String> {
    reply.array().iter().map(|part| part.text()).collect()
}
