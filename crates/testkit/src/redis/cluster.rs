//! A private Cluster: three primaries and three replicas, ready in a fraction of a second.
//!
//! The node timeout is long at first, so that a busy machine does not cause an unwanted failover.
//! [`Cluster::kill_primary`] and [`Cluster::shorten_timeout`] shorten it,
//! [`Cluster::set_node_timeout`] sets any value.

use std::time::Duration;

use super::cluster_nodes::{PRIMARIES, launch};
use super::port::retry_taken_port;
use super::resp::Reply;
use super::server::Server;
use super::wait::until;

/// The usual node timeout: longer than a machine stalls.
const LONG_TIMEOUT: Duration = Duration::from_secs(15);

/// The node timeout for a fast failover; still longer than a busy machine usually stalls.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// Keys moved per MIGRATE.
const PAGE: &str = "100";

/// Six nodes that end when this value is dropped.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    ids: Vec<String>,
}

impl Cluster {
    /// Starts six nodes; all slots are served and all replicas linked when this returns.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Like [`Cluster::start`], with additional configuration lines for every node.
    pub fn start_with(lines: &[&str]) -> Self {
        let (ids, nodes) = retry_taken_port(|| launch(lines)).into_iter().unzip();
        let cluster = Self { nodes, ids };
        cluster.set_node_timeout(LONG_TIMEOUT);
        for node in &cluster.nodes {
            retry_command(
                node,
                &["CONFIG", "SET", "cluster-replica-no-failover", "no"],
            );
        }
        cluster
    }

    /// The URL of a store on this Cluster; it names the first three nodes.
    pub fn url(&self) -> String {
        let seeds: Vec<String> = self.nodes[..PRIMARIES]
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        format!("redis-cluster://{}", seeds.join(","))
    }

    /// All nodes: initially three primaries, then the replica of each in the same order.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// Sets the time after which a silent node is considered failed, on all running nodes.
    pub fn set_node_timeout(&self, timeout: Duration) {
        let millis = timeout.as_millis().to_string();
        for node in self.running() {
            retry_command(node, &["CONFIG", "SET", "cluster-node-timeout", &millis]);
        }
    }

    /// The primary that serves a slot, according to the first running node.
    pub fn node_of_slot(&self, slot: u16) -> &Server {
        let asked = self.running().next().expect("a running node");
        let index = self.index_of_slot(asked, slot);
        &self.nodes[index.unwrap_or_else(|| panic!("slot {slot} is not served"))]
    }

    /// A primary that does not serve this slot, as a target for a move.
    pub fn other_primary(&self, slot: u16) -> &Server {
        let current = self.node_of_slot(slot).port();
        let others = [0, 6_000, 12_000].map(|other| self.node_of_slot(other));
        others
            .into_iter()
            .find(|other| other.port() != current)
            .expect("more than one primary serves slots")
    }

    /// Moves a slot with all its keys to another primary, while clients continue. Every running node
    /// knows the new owner when this returns.
    ///
    /// # Panics
    ///
    /// Panics if a node rejects a command for a minute; the slot then stays in migration.
    pub fn move_slot(&self, slot: u16, to: &Server) {
        let from = self.node_of_slot(slot);
        let (from_id, to_id) = (self.id_of(from), self.id_of(to));
        if from_id == to_id {
            return;
        }
        let number = slot.to_string();
        let set = |node: &Server, args: &[&str]| {
            let command = [&["CLUSTER", "SETSLOT", &number], args].concat();
            retry_command(node, &command);
        };
        set(to, &["IMPORTING", from_id]);
        set(from, &["MIGRATING", to_id]);
        while move_page(&number, from, to) {}
        // The new owner first, so that the slot always has one.
        set(to, &["NODE", to_id]);
        set(from, &["NODE", to_id]);
        for node in self.running().filter(|node| is_primary(node)) {
            set(node, &["NODE", to_id]);
        }
        self.wait_for_owner(slot, to);
    }

    /// Sets a short node timeout: a primary that is silent for two seconds is replaced.
    pub fn shorten_timeout(&self) {
        self.set_node_timeout(SHORT_TIMEOUT);
    }

    /// Sets a short node timeout and kills the primary that serves a slot; its replica takes over.
    pub fn kill_primary(&self, slot: u16) -> &Server {
        self.shorten_timeout();
        let victim = self.node_of_slot(slot);
        victim.kill();
        victim
    }

    /// Waits until a node other than `old` serves a slot and all running nodes know it. Restores the
    /// long node timeout.
    pub fn wait_for_new_primary(&self, slot: u16, old: &Server) -> &Server {
        let new = until("a replica takes over", || {
            let asked = self.running().next().expect("a running node");
            match self
                .index_of_slot(asked, slot)
                .map(|index| &self.nodes[index])
            {
                Some(new) if new.port() != old.port() => Ok(new),
                _ => Err(asked.ask(&["CLUSTER", "NODES"])?.text()),
            }
        });
        self.wait_for_owner(slot, new);
        self.set_node_timeout(LONG_TIMEOUT);
        new
    }

    /// Waits until every running node reports the owner of a slot and a healthy cluster.
    fn wait_for_owner(&self, slot: u16, owner: &Server) {
        for node in self.running() {
            until("the nodes agree on a slot", || {
                let index = self.index_of_slot(node, slot);
                let knows = index.is_some_and(|index| self.nodes[index].port() == owner.port());
                let info = node.ask(&["CLUSTER", "INFO"])?;
                let is_ok = knows && info.field("cluster_state").as_deref() == Some("ok");
                is_ok
                    .then_some(())
                    .ok_or_else(|| format!("served by {index:?}, {}", info.text()))
            });
        }
    }

    fn running(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    fn id_of(&self, node: &Server) -> &str {
        let index = self
            .nodes
            .iter()
            .position(|other| other.port() == node.port());
        &self.ids[index.expect("a node of this Cluster")]
    }

    /// The index of the node that serves a slot, according to `asked`.
    fn index_of_slot(&self, asked: &Server, slot: u16) -> Option<usize> {
        let slot = i64::from(slot);
        let ranges = retry_command(asked, &["CLUSTER", "SLOTS"]);
        let range = ranges.array().iter().find(|range| {
            let range = range.array();
            (range[0].integer()..=range[1].integer()).contains(&slot)
        })?;
        let id = range.array()[2].array()[2].text();
        self.ids.iter().position(|known| *known == id)
    }
}

/// Repeats a command until it succeeds: tests may close connections meanwhile.
fn retry_command<A: AsRef<[u8]>>(node: &Server, args: &[A]) -> Reply {
    until("a node accepts a command", || node.ask(args))
}

fn is_primary(node: &Server) -> bool {
    let role = retry_command(node, &["ROLE"]);
    role.array()[0].text() == "master"
}

/// Moves some keys of a slot. Returns whether there were any.
fn move_page(slot: &str, from: &Server, to: &Server) -> bool {
    let page = retry_command(from, &["CLUSTER", "GETKEYSINSLOT", slot, PAGE]);
    let port = to.port().to_string();
    let mut command: Vec<Vec<u8>> = ["MIGRATE", "127.0.0.1", &port, "", "0", "30000", "KEYS"]
        .map(|arg| arg.as_bytes().to_vec())
        .to_vec();
    for key in page.array() {
        match key {
            Reply::Bulk(name) => command.push(name.clone()),
            other => panic!("expected a key, got {other:?}"),
        }
    }
    let has_keys = !page.array().is_empty();
    if has_keys {
        // Replies `NOKEY` if all of them are gone by now, which is fine.
        retry_command(from, &command);
    }
    has_keys
}
