//! The primary that sentinels know: found by asking all of them, checked, and followed when they
//! make another server primary.

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

use super::check::Hello;
use super::conn::Entrance;
use super::node::Node;
use super::single_flight::Turn;
use super::{Seldom, held, sentinel_events};
use crate::address::{Address, Host, Server};
use crate::error::{Course, Fault};

/// How long one sentinel, or the server they name, may take to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a sentinel's announcement counts for more than what others still say.
const NEWS: Duration = Duration::from_secs(30);

/// The primary that sentinels know.
pub(crate) struct Sentinel {
    sentinels: Vec<Arc<Node>>,
    master: String,
    entrance: Entrance,
    current: Mutex<Option<Arc<Node>>>,
    /// What a sentinel announced, and when.
    announced: Mutex<Option<(Server, Instant)>>,
    is_stale: AtomicBool,
    finding: Turn,
    changes: watch::Sender<u64>,
    followers: Mutex<Vec<AbortHandle>>,
}

impl Sentinel {
    pub(super) fn new(
        address: &Address,
        hosts: &[Host],
        master: &str,
        entrance: Entrance,
    ) -> Result<Arc<Self>> {
        let door = Entrance::new(&address.sentinel_login, 0, address.tls.as_ref())?;
        let sentinels = hosts
            .iter()
            .map(|host| Node::new(&Server::Tcp(host.clone()), &door).map_err(Fault::into_error))
            .collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Self {
            sentinels,
            master: master.to_owned(),
            entrance,
            current: Mutex::default(),
            announced: Mutex::default(),
            is_stale: AtomicBool::new(false),
            finding: Turn::default(),
            changes: watch::Sender::new(0),
            followers: Mutex::default(),
        }))
    }

    /// Follows what every sentinel announces, until the link is dropped.
    pub(super) fn follow(self: &Arc<Self>) {
        let mut followers = held(&self.followers);
        for sentinel in &self.sentinels {
            let this: Weak<Self> = Arc::downgrade(self);
            let follower = tokio::spawn(sentinel_events::follow(this, Arc::clone(sentinel)));
            followers.push(follower.abort_handle());
        }
    }

    /// The primary.
    pub(super) async fn node(&self, until: Instant) -> Result<Arc<Node>, Fault> {
        let known = || held(&self.current).clone();
        if let Some(node) = known()
            && !self.is_stale.load(Ordering::Acquire)
        {
            return Ok(node);
        }
        let found: Seldom<'_, _> = Box::pin(self.finding.take(self.find()));
        tokio::time::timeout_at(until, found)
            .await
            .unwrap_or_else(|_| Err(Fault::nowhere("the primary was not found in time")))?;
        known().ok_or_else(|| Fault::nowhere("the primary is not known"))
    }

    /// Learns that the primary does not answer, or says that it is none.
    pub(super) fn heard(&self, fault: &Fault) {
        if !matches!(fault.course, Course::Again | Course::Fatal) {
            self.doubt();
        }
    }

    /// Finds the primary anew before the next call.
    pub(super) fn doubt(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn master(&self) -> &str {
        &self.master
    }

    /// A sentinel says that another server is primary now. Calls that wait for the old one fail at
    /// once and are sent to the new.
    pub(super) async fn announced(&self, host: Host) {
        let server = Server::Tcp(host);
        *held(&self.announced) = Some((server.clone(), Instant::now()));
        self.doubt();
        let old = held(&self.current).take_if(|node| *node.server() != server);
        if let Some(old) = old {
            old.give_up();
        }
        // Ready for the next call; if it fails, that call tries again.
        let _ = self.finding.take(self.find()).await;
    }

    /// Asks all sentinels and takes the first server they name that says it is primary.
    async fn find(&self) -> Result<(), Fault> {
        self.is_stale.store(false, Ordering::Release);
        let outcome = self.find_one().await;
        if outcome.is_err() {
            self.doubt();
        }
        outcome
    }

    async fn find_one(&self) -> Result<(), Fault> {
        let mut latest = Fault::nowhere("no sentinel can be reached");
        for server in self.candidates().await? {
            match self.primary_at(&server).await {
                Ok(node) => {
                    self.put_in_charge(&node);
                    return Ok(());
                }
                Err(fault) => latest = fault,
            }
        }
        Err(latest)
    }

    /// What sentinels say, the most often named first; an announcement comes before all.
    async fn candidates(&self) -> Result<Vec<Server>, Fault> {
        let mut asked = JoinSet::new();
        for sentinel in &self.sentinels {
            asked.spawn(ask(Arc::clone(sentinel), self.master.clone()));
        }
        let mut votes: HashMap<Server, usize> = HashMap::new();
        let (mut strangers, mut latest) = (0, None);
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(Some(server))) => *votes.entry(server).or_default() += 1,
                Ok(Ok(None)) => strangers += 1,
                Ok(Err(fault)) => latest = Some(fault),
                Err(_) => {}
            }
        }
        let mut named: Vec<(Server, usize)> = votes.into_iter().collect();
        named.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
        let mut servers: Vec<Server> = named.into_iter().map(|(server, _)| server).collect();
        if let Some((server, at)) = held(&self.announced).clone()
            && at.elapsed() < NEWS
        {
            servers.retain(|named| *named != server);
            servers.insert(0, server);
        }
        if !servers.is_empty() {
            Ok(servers)
        } else if strangers > 0 {
            Err(Fault::fatal(
                ErrorKind::Invalid,
                format!("no sentinel knows a primary by the name {:?}", self.master),
                "write the name that the sentinels monitor: redis-sentinel://HOST:PORT/NAME/DB",
            ))
        } else {
            Err(latest.unwrap_or_else(|| Fault::nowhere("no sentinel can be reached")))
        }
    }

    /// The server, when it says itself that it is primary.
    async fn primary_at(&self, server: &Server) -> Result<Arc<Node>, Fault> {
        let known = held(&self.current)
            .clone()
            .filter(|node| node.server() == server);
        let node = match known {
            Some(node) => node,
            None => Node::new(server, &self.entrance)?,
        };
        let until = Instant::now() + PATIENCE;
        let conn = node.shared(until).await?;
        let answer = conn.call(&redis::cmd("HELLO"), until).await;
        // To ask changes nothing: silence is no unknown outcome of the caller's call.
        let hello = answer.map_err(|fault| match fault.course {
            Course::Unknown => Fault::nowhere(format!("{server} does not answer")),
            _ => fault,
        })?;
        if Hello::read(&node, hello)?.is_primary() {
            Ok(node)
        } else {
            Err(Fault::nowhere(format!("{server} is not a primary yet")))
        }
    }

    fn put_in_charge(&self, node: &Arc<Node>) {
        let old = held(&self.current).replace(Arc::clone(node));
        if let Some(old) = old.filter(|old| !Arc::ptr_eq(old, node)) {
            old.give_up();
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// Where a sentinel says the primary is; none when it knows no such name.
async fn ask(sentinel: Arc<Node>, master: String) -> Result<Option<Server>, Fault> {
    let mut cmd = Cmd::new();
    cmd.arg("SENTINEL")
        .arg("GET-MASTER-ADDR-BY-NAME")
        .arg(master);
    let until = Instant::now() + PATIENCE;
    let conn = sentinel.shared(until).await?;
    let answer = conn.call(&cmd, until).await.map_err(|fault| {
        if fault.course == Course::Unknown {
            sentinel.forget(&conn);
            Fault::nowhere(format!("the sentinel {} does not answer", sentinel.name()))
        } else {
            fault
        }
    })?;
    if answer == Value::Nil {
        return Ok(None);
    }
    let (name, port): (String, u16) = redis::from_redis_value(answer)
        .map_err(|_| Fault::odd(sentinel.name(), "the place of the primary cannot be read"))?;
    Ok(Some(Server::Tcp(Host { name, port })))
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        for follower in held(&self.followers).drain(..) {
            follower.abort();
        }
    }
}

impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel")
            .field("master", &self.master)
            .field("current", &held(&self.current))
            .finish_non_exhaustive()
    }
}
