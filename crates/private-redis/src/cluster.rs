//! A private Cluster: three primaries and three replicas, ready in a fraction of a second.
//!
//! Nodes are patient at first, so that no busy machine causes a failover that no test asked for.
//! [`Cluster::kill_primary`] and [`Cluster::lose_patience`] make them impatient,
//! [`Cluster::set_node_timeout`] as much as you like.

use std::time::Duration;

use crate::cluster_nodes::{PRIMARIES, launch};
use crate::port::unless_taken;
use crate::resp::Reply;
use crate::server::Server;
use crate::wait::until;

/// A node that does not answer for so long is taken for dead: longer than a machine stalls.
const PATIENT: Duration = Duration::from_secs(15);

/// The same, when a test wants a failover soon. Still long enough that a busy machine does not take
/// the living for dead.
const IMPATIENT: Duration = Duration::from_secs(2);

/// How many keys move at once.
const PAGE: &str = "100";

/// Six nodes that end with this value.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    ids: Vec<String>,
}

impl Cluster {
    /// Starts six nodes; all slots are served and all replicas linked when this returns.
    ///
    /// # Panics
    ///
    /// When there is no `redis-server`, or a node does not come up.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`Cluster::start`], with further lines in the configuration of every node.
    pub fn start_with(lines: &[&str]) -> Self {
        let (ids, nodes) = unless_taken(|| launch(lines)).into_iter().unzip();
        let cluster = Self { nodes, ids };
        cluster.set_node_timeout(PATIENT);
        for node in &cluster.nodes {
            insist(
                node,
                &["CONFIG", "SET", "cluster-replica-no-failover", "no"],
            );
        }
        cluster
    }

    /// The URL that opens a store on it: it names the three first primaries.
    pub fn url(&self) -> String {
        let seeds: Vec<String> = self.nodes[..PRIMARIES]
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()))
            .collect();
        format!("redis-cluster://{}", seeds.join(","))
    }

    /// All nodes: at first three primaries, then in the same order the replica of each.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// How long a node may be silent before the others take it for dead. Killed nodes do not hear it.
    pub fn set_node_timeout(&self, timeout: Duration) {
        let millis = timeout.as_millis().to_string();
        for node in self.running() {
            insist(node, &["CONFIG", "SET", "cluster-node-timeout", &millis]);
        }
    }

    /// The primary that serves a slot, as the first node that runs sees it.
    ///
    /// # Panics
    ///
    /// When no node runs, or nobody serves the slot.
    pub fn node_of_slot(&self, slot: u16) -> &Server {
        let asked = self.running().next().expect("a node runs");
        let place = self.place_of_slot(asked, slot);
        &self.nodes[place.unwrap_or_else(|| panic!("nobody serves slot {slot}"))]
    }

    /// A primary that does not serve this slot, though it serves others: somewhere to move it.
    pub fn other_primary(&self, slot: u16) -> &Server {
        let home = self.node_of_slot(slot).port();
        let others = [0, 6_000, 12_000].map(|other| self.node_of_slot(other));
        others
            .into_iter()
            .find(|other| other.port() != home)
            .expect("the slots are not all in one place")
    }

    /// Moves a slot with all its keys to another primary, while clients go on. Every node that runs
    /// knows of it when this returns.
    ///
    /// # Panics
    ///
    /// When a node refuses a step for a minute; then the slot stays between the two.
    pub fn move_slot(&self, slot: u16, to: &Server) {
        let from = self.node_of_slot(slot);
        let (from_id, to_id) = (self.id_of(from), self.id_of(to));
        if from_id == to_id {
            return;
        }
        let number = slot.to_string();
        let set = |node: &Server, words: &[&str]| {
            let command = [&["CLUSTER", "SETSLOT", &number], words].concat();
            insist(node, &command);
        };
        set(to, &["IMPORTING", from_id]);
        set(from, &["MIGRATING", to_id]);
        while move_page(&number, from, to) {}
        // The new home first: if we died here, the slot would have one.
        set(to, &["NODE", to_id]);
        set(from, &["NODE", to_id]);
        for node in self.running().filter(|node| is_primary(node)) {
            set(node, &["NODE", to_id]);
        }
        self.wait_for_home(slot, to);
    }

    /// Makes the nodes impatient: a primary that is silent for two seconds is replaced.
    pub fn lose_patience(&self) {
        self.set_node_timeout(IMPATIENT);
    }

    /// Makes the nodes impatient and kills the primary that serves a slot: its replica will follow.
    pub fn kill_primary(&self, slot: u16) -> &Server {
        self.lose_patience();
        let victim = self.node_of_slot(slot);
        victim.kill();
        victim
    }

    /// Waits until another node than `old` serves a slot, all nodes that run know of it, and they
    /// are patient again.
    pub fn wait_for_new_primary(&self, slot: u16, old: &Server) -> &Server {
        let new = until("a replica takes over", || {
            let asked = self.running().next().expect("a node runs");
            match self
                .place_of_slot(asked, slot)
                .map(|place| &self.nodes[place])
            {
                Some(new) if new.port() != old.port() => Ok(new),
                _ => Err(asked.ask(&["CLUSTER", "NODES"])?.text()),
            }
        });
        self.wait_for_home(slot, new);
        self.set_node_timeout(PATIENT);
        new
    }

    /// Waits until every node that runs says that the slot is there and that all is well.
    fn wait_for_home(&self, slot: u16, home: &Server) {
        for node in self.running() {
            until("the nodes agree on a slot", || {
                let place = self.place_of_slot(node, slot);
                let knows = place.is_some_and(|place| self.nodes[place].port() == home.port());
                let info = node.ask(&["CLUSTER", "INFO"])?;
                let is_well = knows && info.field("cluster_state").as_deref() == Some("ok");
                is_well
                    .then_some(())
                    .ok_or_else(|| format!("it serves {place:?}, {}", info.text()))
            });
        }
    }

    fn running(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    fn id_of(&self, node: &Server) -> &str {
        let place = self
            .nodes
            .iter()
            .position(|other| other.port() == node.port());
        &self.ids[place.expect("the node is one of this Cluster")]
    }

    /// Which of our nodes serves a slot, as one of them sees it.
    fn place_of_slot(&self, asked: &Server, slot: u16) -> Option<usize> {
        let slot = i64::from(slot);
        let ranges = insist(asked, &["CLUSTER", "SLOTS"]);
        let range = ranges.array().iter().find(|range| {
            let range = range.array();
            (range[0].integer()..=range[1].integer()).contains(&slot)
        })?;
        let id = range.array()[2].array()[2].text();
        self.ids.iter().position(|known| *known == id)
    }
}

/// Sends a command that may be repeated until it passes: a test may cut connections all the while.
fn insist<A: AsRef<[u8]>>(node: &Server, words: &[A]) -> Reply {
    until("a node does what it is told", || node.ask(words))
}

fn is_primary(node: &Server) -> bool {
    let role = insist(node, &["ROLE"]);
    role.array()[0].text() == "master"
}

/// Moves some keys of a slot; whether there were any.
fn move_page(slot: &str, from: &Server, to: &Server) -> bool {
    let page = insist(from, &["CLUSTER", "GETKEYSINSLOT", slot, PAGE]);
    let port = to.port().to_string();
    let mut command: Vec<Vec<u8>> = ["MIGRATE", "127.0.0.1", &port, "", "0", "30000", "KEYS"]
        .map(|word| word.as_bytes().to_vec())
        .to_vec();
    for key in page.array() {
        match key {
            Reply::Bulk(name) => command.push(name.clone()),
            other => panic!("a key was expected, the server answered {other:?}"),
        }
    }
    let has_keys = !page.array().is_empty();
    if has_keys {
        // `NOKEY` when all of them were deleted or expired since: that is no failure.
        insist(from, &command);
    }
    has_keys
}
