//! Helpers shared by the tests of this binary.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_core::{QueueName, Store};
use windlass_store_redis::{Options, RedisStore};
use windlass_testkit::redis::{Server, ServerOptions, until};

/// Timeout of [`eventually`]; far more than a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the factor by which to lengthen a test (`WINDLASS_ROUNDS`, default: 1).
pub(crate) fn rounds() -> u32 {
    let text = std::env::var("WINDLASS_ROUNDS").unwrap_or_else(|_| "1".to_owned());
    text.parse()
        .unwrap_or_else(|_| panic!("WINDLASS_ROUNDS={text} is not a number"))
}

pub(crate) fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// Appends options to a URL.
pub(crate) fn with_options(url: &str, options: &str) -> String {
    format!("{url}?{options}")
}

pub(crate) async fn open(url: &str) -> RedisStore {
    RedisStore::open(url, Options::default()).await.unwrap()
}

pub(crate) async fn shared(url: &str) -> Arc<dyn Store> {
    Arc::new(open(url).await)
}

/// Runs blocking work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Runs blocking work with a shared value on another thread.
pub(crate) async fn with<S, T>(shared: &Arc<S>, work: impl FnOnce(&S) -> T + Send + 'static) -> T
where
    S: Send + Sync + 'static,
    T: Send + 'static,
{
    let shared = Arc::clone(shared);
    blocking(move || work(&shared)).await
}

/// Repeats a check until it returns `Ok`; its `Err` describes what is still missing.
pub(crate) async fn eventually<T>(what: &str, check: impl AsyncFn() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match check().await {
            Ok(value) => return value,
            Err(missing) => assert!(
                began.elapsed() < TIMEOUT,
                "{what}: not within {TIMEOUT:?}; last: {missing}"
            ),
        }
        sleep(Duration::from_millis(5)).await;
    }
}

/// Sends commands to a server repeatedly until it is dropped.
pub(crate) struct RepeatedCommand {
    task: JoinHandle<()>,
    sent: Arc<AtomicU64>,
}

impl RepeatedCommand {
    /// Sends the commands in turn, with a random delay within `pause_ms` before each.
    pub(crate) fn start(
        server: &Arc<Server>,
        pause_ms: std::ops::Range<u64>,
        commands: &[&[&str]],
    ) -> Self {
        let server = Arc::clone(server);
        let commands: Vec<Vec<String>> = commands
            .iter()
            .map(|command| {
                command
                    .iter()
                    .map(|argument| (*argument).to_owned())
                    .collect()
            })
            .collect();
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let task = tokio::spawn(async move {
            for command in commands.iter().cycle() {
                sleep(Duration::from_millis(fastrand::u64(pause_ms.clone()))).await;
                let command = command.clone();
                // Fails while the server is down.
                let reply = with(&server, move |server| server.try_command(&command)).await;
                counted.fetch_add(u64::from(reply.is_ok()), Ordering::Relaxed);
            }
        });
        Self { task, sent }
    }

    /// How many commands the server has replied to.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for RepeatedCommand {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns one number of INFO.
pub(crate) fn info(server: &Server, section: &str, field: &str) -> u64 {
    let info = server.command(&["INFO", section]);
    let value = info.field(field).unwrap_or_else(|| "0".to_owned());
    value.parse().unwrap_or_else(|_| panic!("{field}:{value}"))
}

/// Returns how often a command was called or an error returned: `NAME:calls=N,…` or `NAME:count=N`.
pub(crate) fn counted(server: &Server, section: &str, name: &str) -> u64 {
    let info = server.command(&["INFO", section]);
    let Some(line) = info.field(name) else {
        return 0;
    };
    let first = line.split(',').next().unwrap();
    first.split_once('=').unwrap().1.parse().unwrap()
}

/// Starts a primary with connected replicas.
pub(crate) async fn replicated(count: usize) -> (Arc<Server>, Vec<Arc<Server>>) {
    blocking(move || {
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
            until("the replica is connected", || {
                let info = replica.ask(&["INFO", "replication"])?;
                let is_up = info.field("master_link_status").as_deref() == Some("up");
                is_up.then_some(()).ok_or_else(|| info.text())
            });
        }
        (Arc::new(primary), replicas)
    })
    .await
}
