//! A Cluster: maps slots to nodes, using CLUSTER SLOTS and redirects.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::Instant;

use super::dial::ConnectOptions;
use super::lock;
use super::node::Node;
use super::single_flight::SingleFlight;
use super::slot::SLOTS;
use super::topology::Changes;
use crate::address::{Host, Server};
use crate::error::{CallError, Recovery, Redirect};

/// Timeout of CLUSTER SLOTS on one node.
const QUERY_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Cluster {
    seeds: Vec<Host>,
    options: ConnectOptions,
    map: Mutex<SlotMap>,
    refresh: SingleFlight,
    is_refreshing: AtomicBool,
    changes: Changes,
}

/// The known nodes and their slots.
#[derive(Default)]
struct SlotMap {
    nodes: HashMap<Server, Arc<Node>>,
    /// The node of each slot; empty before the first refresh.
    slots: Vec<Option<Server>>,
}

/// First slot, last slot, and the node that owns them.
type Range = (u16, u16, Server);

impl Cluster {
    pub(super) fn new(seeds: &[Host], options: ConnectOptions, changes: Changes) -> Arc<Self> {
        Arc::new(Self {
            seeds: seeds.to_vec(),
            options,
            map: Mutex::default(),
            refresh: SingleFlight::default(),
            is_refreshing: AtomicBool::new(false),
            changes,
        })
    }

    /// Returns the node of a slot. A known node is returned even if the map is stale, so that calls
    /// to healthy nodes do not wait for a refresh.
    pub(super) async fn node(
        self: &Arc<Self>,
        slot: u16,
        until: Instant,
    ) -> Result<Arc<Node>, CallError> {
        let known = || lock(&self.map).node_of(slot);
        if let Some(node) = known() {
            if self.refresh.is_stale() {
                self.refresh_in_background();
            }
            return Ok(node);
        }
        self.refresh(until).await?;
        known().ok_or_else(|| CallError::no_server(format!("no node owns slot {slot}")))
    }

    /// Returns every node that owns slots.
    pub(super) async fn primaries(&self, until: Instant) -> Result<Vec<Arc<Node>>, CallError> {
        self.refresh(until).await?;
        Ok(lock(&self.map).primaries())
    }

    /// Returns the node that an ASK redirect names while a slot is being migrated.
    pub(super) fn ask_target(&self, ask: &Redirect, asked: &Node) -> Arc<Node> {
        let server = target(ask, asked);
        lock(&self.map).node_at(&server, &self.options)
    }

    /// Applies a MOVED redirect; after other errors marks the map as stale.
    pub(super) fn record_error(&self, node: &Node, error: &CallError) {
        match &error.redirect {
            Some(redirect) if redirect.is_ask => {}
            Some(moved) => {
                let server = target(moved, node);
                let mut map = lock(&self.map);
                map.node_at(&server, &self.options);
                if let Some(owner) = map.slots.get_mut(usize::from(moved.slot)) {
                    *owner = Some(server);
                }
                drop(map);
                self.changes.send_modify(|changes| *changes += 1);
                self.refresh.mark_stale();
            }
            None if matches!(error.recovery, Recovery::Retry | Recovery::Fatal) => {}
            None => self.refresh.mark_stale(),
        }
    }

    fn refresh_in_background(self: &Arc<Self>) {
        if self.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        let guard = RefreshGuard(Arc::clone(self));
        tokio::spawn(async move {
            let cluster = &guard.0;
            // After a failure the map stays stale: the next call refreshes it again.
            let _ = cluster.refresh.run(cluster.query_nodes()).await;
        });
    }

    async fn refresh(&self, until: Instant) -> Result<(), CallError> {
        let what = "reading the slots of the Cluster";
        let refreshed = self.refresh.run_until(until, what, self.query_nodes());
        refreshed.await
    }

    /// Queries one node after the other until one returns the slots.
    async fn query_nodes(&self) -> Result<(), CallError> {
        let mut latest = CallError::no_server("cannot connect to any node");
        for server in self.servers() {
            let node = lock(&self.map).node_at(&server, &self.options);
            match query_slots(&node).await {
                Ok(ranges) => {
                    self.apply(&ranges);
                    return Ok(());
                }
                Err(error) if error.recovery == Recovery::Fatal => return Err(error),
                Err(error) => latest = error,
            }
        }
        Err(latest)
    }

    /// Returns every known server, in random order, connected ones first.
    fn servers(&self) -> Vec<Server> {
        let mut servers: Vec<(bool, Server)> = lock(&self.map)
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
        servers.sort_by_key(|(is_disconnected, _)| *is_disconnected);
        servers.into_iter().map(|(_, server)| server).collect()
    }

    fn apply(&self, ranges: &[Range]) {
        let mut slots = vec![None; usize::from(SLOTS)];
        let mut map = lock(&self.map);
        for (first, last, server) in ranges {
            map.node_at(server, &self.options);
            let range = usize::from(*first)..=usize::from(*last);
            if let Some(owners) = slots.get_mut(range) {
                owners.fill(Some(server.clone()));
            }
        }
        let is_changed = map.slots != slots;
        map.slots = slots;
        // Drop nodes that own no slots; calls in flight keep theirs.
        let used: HashSet<&Server> = ranges.iter().map(|(_, _, server)| server).collect();
        map.nodes.retain(|server, _| used.contains(server));
        drop(map);
        if is_changed {
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// Clears `is_refreshing` when the background refresh ends.
struct RefreshGuard(Arc<Cluster>);

impl Drop for RefreshGuard {
    fn drop(&mut self) {
        self.0.is_refreshing.store(false, Ordering::Release);
    }
}

impl SlotMap {
    fn node_of(&self, slot: u16) -> Option<Arc<Node>> {
        let server = self.slots.get(usize::from(slot))?.as_ref()?;
        self.nodes.get(server).cloned()
    }

    fn primaries(&self) -> Vec<Arc<Node>> {
        let mut nodes: Vec<Arc<Node>> = self.nodes.values().cloned().collect();
        nodes.sort_by(|a, b| a.name().cmp(b.name()));
        nodes
    }

    fn node_at(&mut self, server: &Server, options: &ConnectOptions) -> Arc<Node> {
        let known = self.nodes.entry(server.clone());
        Arc::clone(known.or_insert_with(|| Node::new(server, options)))
    }
}

async fn query_slots(node: &Node) -> Result<Vec<Range>, CallError> {
    let mut cmd = Cmd::new();
    cmd.arg("CLUSTER").arg("SLOTS");
    let reply = node.query(&cmd, QUERY_TIMEOUT).await?;
    parse_slots(&reply, node.server())
        .filter(|ranges| (1..=usize::from(SLOTS)).contains(&ranges.len()))
        .ok_or_else(|| CallError::no_server(format!("{} reports no valid slots", node.name())))
}

/// Parses the reply to CLUSTER SLOTS. An unknown host stands for the host of the queried node.
fn parse_slots(reply: &Value, asked: &Server) -> Option<Vec<Range>> {
    let array = |value: &Value| match value {
        Value::Array(items) => Some(items.clone()),
        _ => None,
    };
    let number = |value: &Value| match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    };
    array(reply)?
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

fn target(redirect: &Redirect, reported_by: &Node) -> Server {
    server(&redirect.host, redirect.port, reported_by.server())
}

fn server(host: &str, port: u16, reported_by: &Server) -> Server {
    let name = match (host, reported_by) {
        ("" | "?", Server::Tcp(reported_by)) => reported_by.name.clone(),
        (host, _) => host.to_owned(),
    };
    Server::Tcp(Host { name, port })
}
