//! A primary discovered through sentinels: queries all of them, verifies the answer and follows
//! failovers.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use windlass_core::{ErrorKind, Result};

use super::check::HelloReply;
use super::dial::ConnectOptions;
use super::node::Node;
use super::progress::LinkProgress;
use super::single_flight::SingleFlight;
use super::{BoxFuture, LinkMode, lock, sentinel_events};
use crate::address::{Host, LinkAddress, Server};
use crate::error::{CallError, Recovery};

/// Timeout of one query to a sentinel or to the server it names.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a `+switch-master` event takes precedence over what other sentinels still report.
const EVENT_TTL: Duration = Duration::from_secs(30);

/// A primary discovered through sentinels.
pub(crate) struct Sentinel {
    sentinels: Vec<Arc<Node>>,
    master: String,
    options: ConnectOptions,
    current: Mutex<Option<Arc<Node>>>,
    /// The latest `+switch-master` event: the new primary, and when it was received.
    switched: Mutex<Option<(Server, Instant)>>,
    is_stale: AtomicBool,
    discovery: SingleFlight,
    changes: watch::Sender<u64>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Sentinel {
    pub(super) fn new(
        address: &LinkAddress,
        hosts: &[Host],
        master: &str,
        options: ConnectOptions,
    ) -> Result<Arc<Self>> {
        let limit = LinkMode::Store.reply_bytes_max();
        let sentinel_options =
            ConnectOptions::new(&address.sentinel_login, 0, address.tls.as_ref(), limit)?;
        let sentinels = hosts
            .iter()
            .map(|host| Node::new(&Server::Tcp(host.clone()), &sentinel_options))
            .collect();
        Ok(Arc::new(Self {
            sentinels,
            master: master.to_owned(),
            options,
            current: Mutex::default(),
            switched: Mutex::default(),
            is_stale: AtomicBool::new(false),
            discovery: SingleFlight::default(),
            changes: watch::Sender::new(0),
            tasks: Mutex::default(),
        }))
    }

    /// Listens to the events of every sentinel until the link is dropped.
    pub(super) fn follow(self: &Arc<Self>) {
        let mut tasks = lock(&self.tasks);
        for sentinel in &self.sentinels {
            let this: Weak<Self> = Arc::downgrade(self);
            let task = tokio::spawn(sentinel_events::follow(this, Arc::clone(sentinel)));
            tasks.push(task.abort_handle());
        }
    }

    /// Returns the primary.
    pub(super) async fn node(&self, until: Instant) -> Result<Arc<Node>, CallError> {
        let known = || lock(&self.current).clone();
        if let Some(node) = known()
            && !self.is_stale.load(Ordering::Acquire)
        {
            return Ok(node);
        }
        let found: BoxFuture<'_, _> = Box::pin(self.discovery.run(self.discover()));
        tokio::time::timeout_at(until, found)
            .await
            .unwrap_or_else(|_| {
                Err(CallError::no_server(
                    "timed out while asking the sentinels for the primary",
                ))
            })?;
        known().ok_or_else(|| CallError::no_server("the primary is unknown"))
    }

    /// Marks the primary as stale if it does not reply or is no longer primary.
    pub(super) fn record_error(&self, error: &CallError) {
        if !matches!(error.recovery, Recovery::Retry | Recovery::Fatal) {
            self.mark_stale();
        }
    }

    /// Makes the next call discover the primary again.
    pub(super) fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    pub(super) fn progress(&self) -> &Arc<LinkProgress> {
        &self.options.progress
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn master(&self) -> &str {
        &self.master
    }

    /// Handles a `+switch-master` event. Calls in flight to the old primary fail immediately and are
    /// retried on the new one.
    pub(super) async fn switch_to(&self, host: Host) {
        let server = Server::Tcp(host);
        *lock(&self.switched) = Some((server.clone(), Instant::now()));
        self.mark_stale();
        let old = lock(&self.current).take_if(|node| *node.server() != server);
        if let Some(old) = old {
            old.close_all();
        }
        // Prepares the next call; after a failure that call tries again.
        let _ = self.discovery.run(self.discover()).await;
    }

    /// Queries all sentinels and uses the first server that confirms it is primary.
    async fn discover(&self) -> Result<(), CallError> {
        self.is_stale.store(false, Ordering::Release);
        let outcome = self.try_candidates().await;
        if outcome.is_err() {
            self.mark_stale();
        }
        outcome
    }

    async fn try_candidates(&self) -> Result<(), CallError> {
        let mut latest = CallError::no_server("cannot connect to any sentinel");
        for server in self.candidates().await? {
            match self.verify_primary(&server).await {
                Ok(node) => {
                    self.set_primary(&node);
                    return Ok(());
                }
                Err(error) => latest = error,
            }
        }
        Err(latest)
    }

    /// Returns the servers that sentinels report, by number of votes; a recent event comes first.
    async fn candidates(&self) -> Result<Vec<Server>, CallError> {
        let mut queries = JoinSet::new();
        for sentinel in &self.sentinels {
            queries.spawn(query_primary(Arc::clone(sentinel), self.master.clone()));
        }
        let mut votes: HashMap<Server, usize> = HashMap::new();
        let (mut unknown, mut latest) = (0, None);
        while let Some(reply) = queries.join_next().await {
            match reply {
                Ok(Ok(Some(server))) => *votes.entry(server).or_default() += 1,
                Ok(Ok(None)) => unknown += 1,
                Ok(Err(error)) => latest = Some(error),
                Err(_) => {}
            }
        }
        let mut named: Vec<(Server, usize)> = votes.into_iter().collect();
        named.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
        let mut servers: Vec<Server> = named.into_iter().map(|(server, _)| server).collect();
        if let Some((server, at)) = lock(&self.switched).clone()
            && at.elapsed() < EVENT_TTL
        {
            servers.retain(|named| *named != server);
            servers.insert(0, server);
        }
        if !servers.is_empty() {
            Ok(servers)
        } else if unknown > 0 {
            Err(CallError::fatal(
                ErrorKind::Invalid,
                format!("no sentinel monitors a primary named {:?}", self.master),
                "use the name that the sentinels monitor: redis-sentinel://HOST:PORT/NAME/DB",
            ))
        } else {
            Err(latest.unwrap_or_else(|| CallError::no_server("cannot connect to any sentinel")))
        }
    }

    /// Returns the server if it reports itself as primary.
    async fn verify_primary(&self, server: &Server) -> Result<Arc<Node>, CallError> {
        let known = lock(&self.current)
            .clone()
            .filter(|node| node.server() == server);
        let node = match known {
            Some(node) => node,
            None => Node::new(server, &self.options),
        };
        let until = Instant::now() + QUERY_TIMEOUT;
        let conn = node.shared(until).await?;
        let reply = conn.call(&redis::cmd("HELLO"), until).await;
        // A read without a reply does not make the outcome of the caller's call unknown.
        let hello = reply.map_err(|error| match error.recovery {
            Recovery::Unknown => CallError::no_server(format!("no reply from {server}")),
            _ => error,
        })?;
        if HelloReply::parse(&node, hello)?.is_primary() {
            Ok(node)
        } else {
            Err(CallError::no_server(format!(
                "{server} is not yet a primary"
            )))
        }
    }

    fn set_primary(&self, node: &Arc<Node>) {
        let old = lock(&self.current).replace(Arc::clone(node));
        if let Some(old) = old.filter(|old| !Arc::ptr_eq(old, node)) {
            old.close_all();
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// Returns the address of the primary according to one sentinel, or `None` if it does not monitor
/// that name.
async fn query_primary(sentinel: Arc<Node>, master: String) -> Result<Option<Server>, CallError> {
    let mut cmd = Cmd::new();
    cmd.arg("SENTINEL")
        .arg("GET-MASTER-ADDR-BY-NAME")
        .arg(master);
    let until = Instant::now() + QUERY_TIMEOUT;
    let conn = sentinel.shared(until).await?;
    let reply = conn.call(&cmd, until).await.map_err(|error| {
        if error.recovery == Recovery::Unknown {
            sentinel.discard(&conn);
            CallError::no_server(format!("no reply from the sentinel {}", sentinel.name()))
        } else {
            error
        }
    })?;
    if reply == Value::Nil {
        return Ok(None);
    }
    let (name, port): (String, u16) = redis::from_redis_value(reply).map_err(|_| {
        CallError::unexpected_reply(
            sentinel.name(),
            "the reply to SENTINEL GET-MASTER-ADDR-BY-NAME is not an address",
        )
    })?;
    Ok(Some(Server::Tcp(Host { name, port })))
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        for task in lock(&self.tasks).drain(..) {
            task.abort();
        }
    }
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel")
            .field("master", &self.master)
            .field("current", &lock(&self.current))
            .finish_non_exhaustive()
    }
}
