//! A Cluster that is there from the first moment, by the files its nodes remember one another in.
//!
//! A primary that starts refuses to serve for two seconds, lest it overlook that it was replaced.
//! A replica has no such scruple, and keeps its state when it takes over. So every node that is to
//! be a primary starts as the replica of its later replica, and takes over at once.

use std::collections::HashSet;
use std::thread;

use crate::options::ServerOptions;
use crate::port::Port;
use crate::server::Server;
use crate::wait::until;

/// How many primaries; as many replicas.
pub(crate) const PRIMARIES: usize = 3;

/// Which slots a primary has at first.
const SLOTS: [&str; PRIMARIES] = ["0-5460", "5461-10922", "10923-16383"];

/// While the nodes find each other: they exchange news every half of it.
const FORMING_TIMEOUT: &str = "cluster-node-timeout 400";

/// A node to be.
struct Plan {
    id: String,
    port: Port,
    bus: Port,
}

/// Nodes with their ids: first the primaries, then in the same order the replica of each.
pub(crate) fn launch(lines: &[&str]) -> Result<Vec<(String, Server)>, String> {
    let plans: Vec<Plan> = (0..2 * PRIMARIES)
        .map(|_| Plan {
            id: node_id(),
            port: Port::reserve(),
            bus: Port::reserve(),
        })
        .collect();
    let options: Vec<ServerOptions> = (0..plans.len())
        .map(|place| {
            let bus = plans[place].bus.number();
            let options = ServerOptions::new()
                .line("cluster-enabled yes")
                .line(format!("cluster-port {bus}"))
                .line(FORMING_TIMEOUT)
                // Nobody is elected while this machine is too busy to answer in that time.
                .line("cluster-replica-no-failover yes")
                .file("nodes.conf", memory(&plans, place));
            lines
                .iter()
                .fold(options, |options, line| options.line(*line))
        })
        .collect();
    let launched: Vec<Result<_, String>> = thread::scope(|scope| {
        let starting: Vec<_> = plans
            .into_iter()
            .zip(&options)
            .map(|(plan, options)| {
                scope.spawn(move || {
                    let server = Server::launch(options, Some(plan.port))?;
                    Ok((plan.id, server.holding(plan.bus)))
                })
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        starting.into_iter().map(join).collect()
    });
    let nodes: Vec<_> = launched.into_iter().collect::<Result<_, _>>()?;
    take_over(&nodes);
    Ok(nodes)
}

/// What a node finds in its folder: all others, and that the roles are the other way round.
fn memory(plans: &[Plan], place: usize) -> String {
    let lines = plans.iter().enumerate().map(|(number, plan)| {
        let myself = if number == place { "myself," } else { "" };
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

/// Turns the roles round; every node knows of it when this returns.
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
    for (place, (_, node)) in nodes.iter().enumerate() {
        until("the nodes agree on their roles", || {
            let view = node.ask(&["CLUSTER", "NODES"])?.text();
            let info = node.ask(&["CLUSTER", "INFO"])?;
            let is_ok = info.field("cluster_state").as_deref() == Some("ok");
            let is_linked = place < PRIMARIES || {
                let info = node.ask(&["INFO", "replication"])?;
                info.field("master_link_status").as_deref() == Some("up")
            };
            let is_done = is_ok && is_linked && is_agreed(&view, nodes);
            is_done
                .then_some(())
                .ok_or_else(|| format!("state ok: {is_ok}, linked: {is_linked}, {view}"))
        });
    }
}

/// Whether a node sees every primary with its slots and every replica with its primary, and that
/// primaries which took over in the same epoch have settled whose it is.
fn is_agreed(view: &str, nodes: &[(String, Server)]) -> bool {
    let mut epochs = HashSet::new();
    nodes.iter().enumerate().all(|(place, (id, _))| {
        let Some(line) = view.lines().find(|line| line.starts_with(id.as_str())) else {
            return false;
        };
        let words: Vec<&str> = line.split(' ').collect();
        let flags: Vec<&str> = words[2].split(',').collect();
        if flags.iter().any(|flag| flag.starts_with("fail")) {
            return false;
        }
        if let Some(primary) = place.checked_sub(PRIMARIES) {
            return flags.contains(&"slave") && words[3] == nodes[primary].0;
        }
        let has_slots = words.get(8) == Some(&SLOTS[place]);
        flags.contains(&"master") && has_slots && epochs.insert(words[6])
    })
}

/// 40 hexadecimal digits, like those a node would choose.
fn node_id() -> String {
    let mut rng = fastrand::Rng::new();
    (0..40).map(|_| rng.digit(16)).collect()
}
