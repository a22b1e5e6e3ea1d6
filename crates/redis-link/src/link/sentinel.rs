//! A primary discovered through sentinels: queries all of them, verifies the answer and follows
//! failovers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use windlass_core::{ErrorKind, Result};

use super::check::HelloReply;
use super::dial::ConnectOptions;
use super::node::Node;
use super::single_flight::SingleFlight;
use super::topology::Changes;
use super::{LinkMode, lock, sentinel_events};
use crate::address::{Host, LinkAddress, Server};
use crate::error::{CallError, Recovery};

/// Timeout of one query to a sentinel or to the server it names.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a `+switch-master` event takes precedence over what other sentinels still report.
const EVENT_TTL: Duration = Duration::from_secs(30);

pub(crate) struct Sentinel {
    sentinels: Vec<Arc<Node>>,
    master: String,
    options: ConnectOptions,
    current: Mutex<Option<Arc<Node>>>,
    /// The latest `+switch-master` event: the new primary, and when it was received.
    switched: Mutex<Option<(Server, Instant)>>,
    pub(super) discovery: SingleFlight,
    changes: Changes,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Sentinel {
    pub(super) fn new(
        address: &LinkAddress,
        hosts: &[Host],
        master: &str,
        options: ConnectOptions,
        changes: Changes,
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
            discovery: SingleFlight::default(),
            changes,
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

    pub(super) async fn node(&self, until: Instant) -> Result<Arc<Node>, CallError> {
        let known = || lock(&self.current).clone();
        if let Some(node) = known()
            && !self.discovery.is_stale()
        {
            return Ok(node);
        }
        let what = "asking the sentinels for the primary";
        let found = self.discovery.run_until(until, what, self.discover());
        found.await?;
        known().ok_or_else(|| CallError::no_server("the primary is unknown"))
    }

    /// Marks the primary as stale if it does not reply or is no longer primary.
    pub(super) fn record_error(&self, error: &CallError) {
        if !matches!(error.recovery, Recovery::Retry | Recovery::Fatal) {
            self.discovery.mark_stale();
        }
    }

    pub(super) fn master(&self) -> &str {
        &self.master
    }

    /// Handles a `+switch-master` event. Calls in flight to the old primary fail immediately and are
    /// retried on the new one.
    pub(super) async fn switch_to(&self, host: Host) {
        let server = Server::Tcp(host);
        *lock(&self.switched) = Some((server.clone(), Instant::now()));
        self.discovery.mark_stale();
        let old = lock(&self.current).take_if(|node| *node.server() != server);
        if let Some(old) = old {
            old.close_all();
        }
        // Prepares the next call; after a failure that call tries again.
        let _ = self.discovery.run(self.discover()).await;
    }

    /// Queries all sentinels and uses the first server that confirms it is primary.
    async fn discover(&self) -> Result<(), CallError> {
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
        let known = lock(&self.current).clone();
        let known = known.filter(|node| node.server() == server);
        let node = known.unwrap_or_else(|| Node::new(server, &self.options));
        let hello = node.query(&redis::cmd("HELLO"), QUERY_TIMEOUT).await?;
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
    let reply = sentinel.query(&cmd, QUERY_TIMEOUT).await?;
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
