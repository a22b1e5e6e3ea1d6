//! A Cluster: which node has which slot, learnt from the nodes and from their redirects.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::sync::watch;
use tokio::time::Instant;

use super::conn::Entrance;
use super::node::Node;
use super::single_flight::Turn;
use super::slot::SLOTS;
use super::{Seldom, held};
use crate::address::{Host, Server};
use crate::error::{Course, Fault, Redirect};

/// How long one node may take to tell where the slots are.
const PATIENCE: Duration = Duration::from_secs(1);

/// A Cluster.
pub(crate) struct Cluster {
    seeds: Vec<Host>,
    entrance: Entrance,
    map: Mutex<Map>,
    is_stale: AtomicBool,
    learning: Turn,
    /// Somebody learns beside the calls.
    is_learning: AtomicBool,
    changes: watch::Sender<u64>,
}

/// What is known of the nodes.
#[derive(Default)]
struct Map {
    nodes: HashMap<Server, Arc<Node>>,
    /// The node of each slot; empty until it was learnt.
    slots: Vec<Option<Server>>,
}

/// Slots from the first to the last, and the node that has them.
type Range = (u16, u16, Server);

impl Cluster {
    pub(super) fn new(seeds: &[Host], entrance: Entrance) -> Arc<Self> {
        Arc::new(Self {
            seeds: seeds.to_vec(),
            entrance,
            map: Mutex::default(),
            is_stale: AtomicBool::new(true),
            learning: Turn::default(),
            is_learning: AtomicBool::new(false),
            changes: watch::Sender::new(0),
        })
    }

    /// The node of a slot. A node that is known is worth a try, though much may have changed: calls
    /// to healthy nodes do not wait for news about the others.
    pub(super) async fn node(
        self: &Arc<Self>,
        slot: u16,
        until: Instant,
    ) -> Result<Arc<Node>, Fault> {
        let known = || held(&self.map).node_of(slot);
        if let Some(node) = known() {
            if self.is_stale.load(Ordering::Acquire) {
                self.learn_beside();
            }
            return Ok(node);
        }
        self.learn(until).await?;
        known().ok_or_else(|| Fault::nowhere(format!("no node has slot {slot}")))
    }

    /// Every node that has slots.
    pub(super) async fn primaries(&self, until: Instant) -> Result<Vec<Arc<Node>>, Fault> {
        self.learn(until).await?;
        Ok(held(&self.map).primaries())
    }

    /// The node that another one sends a call to while a slot is moved.
    pub(super) fn asked(&self, ask: &Redirect, asked: &Node) -> Result<Arc<Node>, Fault> {
        let server = target(ask, asked);
        held(&self.map).at(&server, &self.entrance)
    }

    /// Learns from redirects; after anything else that is odd, where all slots are is asked anew.
    pub(super) fn heard(&self, node: &Node, fault: &Fault) {
        match &fault.redirect {
            Some(redirect) if redirect.is_ask => {}
            Some(moved) => {
                let server = target(moved, node);
                let mut map = held(&self.map);
                if map.at(&server, &self.entrance).is_ok()
                    && let Some(place) = map.slots.get_mut(usize::from(moved.slot))
                {
                    *place = Some(server);
                }
                drop(map);
                self.changes.send_modify(|changes| *changes += 1);
                self.doubt();
            }
            None if matches!(fault.course, Course::Again | Course::Fatal) => {}
            None => self.doubt(),
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn doubt(&self) {
        self.is_stale.store(true, Ordering::Release);
    }

    fn learn_beside(self: &Arc<Self>) {
        if self.is_learning.swap(true, Ordering::AcqRel) {
            return;
        }
        let lesson = Lesson(Arc::clone(self));
        tokio::spawn(async move {
            let cluster = &lesson.0;
            // A failure leaves the map stale: the next call learns again.
            let _ = cluster.learning.take(cluster.ask_around()).await;
        });
    }

    async fn learn(&self, until: Instant) -> Result<(), Fault> {
        let learnt: Seldom<'_, _> = Box::pin(self.learning.take(self.ask_around()));
        tokio::time::timeout_at(until, learnt)
            .await
            .unwrap_or_else(|_| Err(Fault::nowhere("no node answered in time")))
    }

    /// Asks node after node where the slots are, until one knows.
    async fn ask_around(&self) -> Result<(), Fault> {
        self.is_stale.store(false, Ordering::Release);
        let mut latest = Fault::nowhere("no node can be reached");
        for server in self.known() {
            let node = held(&self.map).at(&server, &self.entrance)?;
            match slots_by(&node).await {
                Ok(ranges) => {
                    self.take(&ranges);
                    return Ok(());
                }
                Err(fault) if fault.course == Course::Fatal => {
                    self.doubt();
                    return Err(fault);
                }
                Err(fault) => latest = fault,
            }
        }
        self.doubt();
        Err(latest)
    }

    /// Every server to ask: those with a connection first, then the others, in random order.
    fn known(&self) -> Vec<Server> {
        let mut servers: Vec<(bool, Server)> = held(&self.map)
            .nodes
            .iter()
            .map(|(server, node)| (!node.is_connected(), server.clone()))
            .collect();
        for seed in &self.seeds {
            let seed = Server::Tcp(seed.clone());
            if !servers.iter().any(|(_, known)| *known == seed) {
                servers.push((true, seed));
            }
        }
        fastrand::shuffle(&mut servers);
        servers.sort_by_key(|(is_away, _)| *is_away);
        servers.into_iter().map(|(_, server)| server).collect()
    }

    fn take(&self, ranges: &[Range]) {
        let mut slots = vec![None; usize::from(SLOTS)];
        let mut map = held(&self.map);
        for (first, last, server) in ranges {
            if map.at(server, &self.entrance).is_ok() {
                let range = usize::from(*first)..=usize::from(*last);
                if let Some(places) = slots.get_mut(range) {
                    places.fill(Some(server.clone()));
                }
            }
        }
        let is_changed = map.slots != slots;
        map.slots = slots;
        // Nodes that have no slots any more; calls under way keep theirs.
        let used: Vec<Server> = ranges.iter().map(|(_, _, server)| server.clone()).collect();
        map.nodes.retain(|server, _| used.contains(server));
        drop(map);
        if is_changed {
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// Learning beside the calls; it is over however it ends.
struct Lesson(Arc<Cluster>);

impl Drop for Lesson {
    fn drop(&mut self) {
        self.0.is_learning.store(false, Ordering::Release);
    }
}

impl Map {
    fn node_of(&self, slot: u16) -> Option<Arc<Node>> {
        let server = self.slots.get(usize::from(slot))?.as_ref()?;
        self.nodes.get(server).cloned()
    }

    fn primaries(&self) -> Vec<Arc<Node>> {
        let mut nodes: Vec<Arc<Node>> = self.nodes.values().cloned().collect();
        nodes.sort_by(|a, b| a.name().cmp(b.name()));
        nodes
    }

    fn at(&mut self, server: &Server, entrance: &Entrance) -> Result<Arc<Node>, Fault> {
        if let Some(node) = self.nodes.get(server) {
            return Ok(Arc::clone(node));
        }
        let node = Node::new(server, entrance)?;
        self.nodes.insert(server.clone(), Arc::clone(&node));
        Ok(node)
    }
}

/// Where one node says that the slots are.
async fn slots_by(node: &Node) -> Result<Vec<Range>, Fault> {
    let until = Instant::now() + PATIENCE;
    let mut cmd = Cmd::new();
    cmd.arg("CLUSTER").arg("SLOTS");
    let conn = node.shared(until).await?;
    let answer = conn.call(&cmd, until).await.map_err(|fault| {
        if fault.course == Course::Unknown {
            // To ask changes nothing: silence is no unknown outcome of the caller's call.
            node.forget(&conn);
            Fault::nowhere(format!("{} does not answer", node.name()))
        } else {
            fault
        }
    })?;
    read(&answer, node.server())
        .filter(|ranges| !ranges.is_empty())
        .ok_or_else(|| Fault::nowhere(format!("{} knows of no slots", node.name())))
}

/// Reads the answer of CLUSTER SLOTS. A node whose own host is not known to it has that of the
/// node that was asked.
fn read(answer: &Value, asked: &Server) -> Option<Vec<Range>> {
    let array = |value: &Value| match value {
        Value::Array(items) => Some(items.clone()),
        _ => None,
    };
    let number = |value: &Value| match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    };
    array(answer)?
        .iter()
        .map(|range| {
            let range = array(range)?;
            let primary = array(range.get(2)?)?;
            let host: Option<String> = redis::from_redis_value_ref(primary.first()?).ok()?;
            let port = number(primary.get(1)?)?;
            let server = server(host.as_deref().unwrap_or_default(), port, asked);
            Some((number(range.first()?)?, number(range.get(1)?)?, server))
        })
        .collect()
}

fn target(redirect: &Redirect, said_by: &Node) -> Server {
    server(&redirect.host, redirect.port, said_by.server())
}

fn server(host: &str, port: u16, told_by: &Server) -> Server {
    let name = match (host, told_by) {
        ("" | "?", Server::Tcp(told_by)) => told_by.name.clone(),
        (host, _) => host.to_owned(),
    };
    Server::Tcp(Host { name, port })
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("nodes", &held(&self.map).nodes.len())
            .finish_non_exhaustive()
    }
}
