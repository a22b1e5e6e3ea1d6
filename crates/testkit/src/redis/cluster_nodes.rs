//! Forms a Cluster quickly, by writing the `nodes.conf` of each node in advance.
//!
//! A starting primary refuses to serve for two seconds, in case it has been replaced. A replica does
//! not, and keeps its state when it takes over. So every future primary starts as the replica of its
//! future replica, and takes over at once.

use std::collections::HashSet;

use super::options::ServerOptions;
use super::port::Port;
use super::server::{Server, node_id};
use super::wait::until;

/// The number of primaries, and of replicas.
pub(crate) const PRIMARIES: usize = 3;

/// The initial slots of each primary.
const SLOTS: [&str; PRIMARIES] = ["0-5460", "5461-10922", "10923-16383"];

/// While the cluster forms: nodes gossip at half this interval.
const FORMING_TIMEOUT: &str = "cluster-node-timeout 400";

/// A node to start.
struct NodePlan {
    id: String,
    port: Port,
    bus: Port,
}

/// Starts the nodes. Returns them with their ids: the primaries, then the replica of each in the same
/// order.
pub(crate) fn launch(lines: &[&str]) -> Result<Vec<(String, Server)>, String> {
    let plans: Vec<NodePlan> = (0..2 * PRIMARIES)
        .map(|_| NodePlan {
            id: node_id(),
            port: Port::reserve(),
            bus: Port::reserve(),
        })
        .collect();
    let options: Vec<ServerOptions> = (0..plans.len())
        .map(|index| {
            let bus = plans[index].bus.number();
            let options = ServerOptions::new()
                .line("cluster-enabled yes")
                .line(format!("cluster-port {bus}"))
                .line(FORMING_TIMEOUT)
                // Prevents elections while a busy machine exceeds the short timeout.
                .line("cluster-replica-no-failover yes")
                .file("nodes.conf", nodes_conf(&plans, index));
            lines
                .iter()
                .fold(options, |options, line| options.line(*line))
        })
        .collect();
    let (ids, (ports, buses)): (Vec<_>, (Vec<_>, Vec<_>)) = plans
        .into_iter()
        .map(|plan| (plan.id, (plan.port, plan.bus)))
        .unzip();
    let launched = Server::launch_all(&options, ports)?;
    let servers = launched.into_iter().zip(buses);
    let servers = servers.map(|(server, bus)| server.with_port(bus));
    let nodes: Vec<_> = ids.into_iter().zip(servers).collect();
    take_over(&nodes);
    Ok(nodes)
}

/// The `nodes.conf` of a node, with all nodes in swapped roles.
fn nodes_conf(plans: &[NodePlan], index: usize) -> String {
    let lines = plans.iter().enumerate().map(|(number, plan)| {
        let myself = if number == index { "myself," } else { "" };
        let (id, port, bus) = (&plan.id, plan.port.number(), plan.bus.number());
        let role = if number < PRIMARIES {
            let replicated = &plans[number + PRIMARIES].id;
            format!("slave {replicated} 0 0 0 connected")
        } else {
            let slots = SLOTS[number - PRIMARIES];
            format!("master - 0 0 {number} connected {slots}")
        };
        format!("{id} 127.0.0.1:{port}@{bus} {myself}{role}\n")
    });
    let variables = format!("vars currentEpoch {} lastVoteEpoch 0\n", plans.len());
    lines.chain([variables]).collect()
}

/// Swaps the roles; every node knows it when this returns.
fn take_over(nodes: &[(String, Server)]) {
    for (_, node) in nodes {
        until("the nodes are linked", || {
            let view = node.ask(&["CLUSTER", "NODES"])?.text();
            let is_linked = !view.contains("disconnected");
            is_linked.then_some(()).ok_or(view)
        });
    }
    for (_, node) in &nodes[..PRIMARIES] {
        node.command(&["CLUSTER", "FAILOVER", "TAKEOVER"]).ok();
    }
    until("the nodes agree on their roles", || {
        let mut agreed: Option<Vec<String>> = None;
        for (index, (_, node)) in nodes.iter().enumerate() {
            let view = node.ask(&["CLUSTER", "NODES"])?.text();
            let info = node.ask(&["CLUSTER", "INFO"])?;
            let is_ok = info.field("cluster_state").as_deref() == Some("ok");
            let is_linked = index < PRIMARIES || {
                let info = node.ask(&["INFO", "replication"])?;
                info.field("master_link_status").as_deref() == Some("up")
            };
            let epochs = epochs(&view, nodes);
            let is_same = epochs.is_some() && (agreed.is_none() || agreed == epochs);
            if !(is_ok && is_linked && is_same) {
                return Err(format!("state ok: {is_ok}, linked: {is_linked}, {view}"));
            }
            agreed = epochs;
        }
        Ok(())
    });
}

/// The epochs of the primaries, if a node sees every primary with its slots and every replica with
/// its primary, and the epochs are distinct.
///
/// Primaries that take over at the same time resolve equal epochs by raising one. A replica that
/// does not know the last epoch of its primary never wins an election, so all nodes must know it.
fn epochs(view: &str, nodes: &[(String, Server)]) -> Option<Vec<String>> {
    let mut epochs = Vec::new();
    for (index, (id, _)) in nodes.iter().enumerate() {
        let line = view.lines().find(|line| line.starts_with(id.as_str()))?;
        let fields: Vec<&str> = line.split(' ').collect();
        let flags: Vec<&str> = fields[2].split(',').collect();
        if flags.iter().any(|flag| flag.starts_with("fail")) {
            return None;
        }
        if let Some(primary) = index.checked_sub(PRIMARIES) {
            if !flags.contains(&"slave") || fields[3] != nodes[primary].0 {
                return None;
            }
            continue;
        }
        let has_slots = fields.get(8) == Some(&SLOTS[index]);
        if !flags.contains(&"master") || !has_slots {
            return None;
        }
        epochs.push(fields[6].to_owned());
    }
    let distinct: HashSet<_> = epochs.iter().collect();
    (distinct.len() == PRIMARIES).then_some(epochs)
}
