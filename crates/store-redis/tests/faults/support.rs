//! What the tests of this binary have in common.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_core::{QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Server, ServerOptions, until};

/// How long anything may take before it counts as broken: far more than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many times as long as usual a run should be.
pub(crate) fn rounds() -> u32 {
    let text = std::env::var("WINDLASS_ROUNDS").unwrap_or_else(|_| "1".to_owned());
    text.parse()
        .unwrap_or_else(|_| panic!("WINDLASS_ROUNDS={text} is no number"))
}

pub(crate) fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// A URL with options behind it.
pub(crate) fn with_options(url: &str, options: &str) -> String {
    format!("{url}?{options}")
}

pub(crate) async fn open(url: &str) -> RedisStore {
    RedisStore::open(url, Options::default()).await.unwrap()
}

pub(crate) async fn shared(url: &str) -> Arc<dyn Store> {
    Arc::new(open(url).await)
}

/// Does something blocking beside the runtime.
pub(crate) async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Does something blocking with a server beside the runtime.
pub(crate) async fn with<S, T>(shared: &Arc<S>, work: impl FnOnce(&S) -> T + Send + 'static) -> T
where
    S: Send + Sync + 'static,
    T: Send + 'static,
{
    let shared = Arc::clone(shared);
    beside(move || work(&shared)).await
}

/// Asks until there is an answer; the `Err` of a question says what is still missing.
pub(crate) async fn eventually<T>(what: &str, ask: impl AsyncFn() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(missing) => assert!(
                began.elapsed() < PATIENCE,
                "{what}: not within {PATIENCE:?}; at last: {missing}"
            ),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// A command that a hand sends to a server again and again, until it is dropped.
pub(crate) struct Hand(JoinHandle<()>);

impl Hand {
    /// Sends the commands in turn, with a pause drawn from `pause_ms` before each.
    pub(crate) fn start(
        server: &Arc<Server>,
        pause_ms: std::ops::Range<u64>,
        commands: &[&[&str]],
    ) -> Self {
        let server = Arc::clone(server);
        let commands: Vec<Vec<String>> = commands
            .iter()
            .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
            .collect();
        Self(tokio::spawn(async move {
            for words in commands.iter().cycle() {
                sleep(Duration::from_millis(fastrand::u64(pause_ms.clone()))).await;
                let words = words.clone();
                // A server that is away is not the hand's concern.
                let _ = with(&server, move |server| server.try_command(&words)).await;
            }
        }))
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One number of INFO.
pub(crate) fn info(server: &Server, section: &str, field: &str) -> u64 {
    let info = server.command(&["INFO", section]);
    let value = info.field(field).unwrap_or_else(|| "0".to_owned());
    value.parse().unwrap_or_else(|_| panic!("{field}:{value}"))
}

/// How often a command was called, or an error given: `NAME:calls=N,…` or `NAME:count=N`.
pub(crate) fn counted(server: &Server, section: &str, name: &str) -> u64 {
    let info = server.command(&["INFO", section]);
    let Some(line) = info.field(name) else {
        return 0;
    };
    let first = line.split(',').next().unwrap();
    first.split_once('=').unwrap().1.parse().unwrap()
}

/// A primary with replicas that are linked.
pub(crate) async fn replicated(count: usize) -> (Arc<Server>, Vec<Arc<Server>>) {
    beside(move || {
        let primary = ServerOptions::new().tcp().start();
        let port = primary.port().to_string();
        let replicas: Vec<_> = (0..count)
            .map(|_| {
                let replica = ServerOptions::new().tcp().start();
                replica.command(&["REPLICAOF", "127.0.0.1", &port]).ok();
                Arc::new(replica)
            })
            .collect();
        for replica in &replicas {
            until("the replica is linked", || {
                let info = replica.ask(&["INFO", "replication"])?;
                let is_up = info.field("master_link_status").as_deref() == Some("up");
                is_up.then_some(()).ok_or_else(|| info.text())
            });
        }
        (Arc::new(primary), replicas)
    })
    .await
}
