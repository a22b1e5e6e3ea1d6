//! A Cluster.

use windlass_testkit::redis::{Cluster, Reply, Server, slot_of};

#[test]
fn a_cluster_serves_every_slot_from_its_start() {
    let cluster = Cluster::start();
    let ports: Vec<String> = cluster.nodes()[..3]
        .iter()
        .map(|node| format!("127.0.0.1:{}", node.port()))
        .collect();
    assert_eq!(
        cluster.url(),
        format!("redis-cluster://{}", ports.join(","))
    );
    for number in 0..200 {
        let key = format!("key{number}");
        let slot = slot_of(key.as_bytes());
        let node = cluster.node_of_slot(slot);
        assert_eq!(node.command(&["SET", &key, "1"]).ok().text(), "OK");
        assert_eq!(
            node.command(&["CLUSTER", "KEYSLOT", &key]).integer(),
            i64::from(slot)
        );
    }
    for node in cluster.nodes() {
        assert_eq!(info(node, "cluster_state"), "ok");
        assert_eq!(info(node, "cluster_known_nodes"), "6");
        assert_eq!(info(node, "cluster_slots_ok"), "16384");
    }
}

/// A replica that knows an older epoch of its primary than the voters do never wins an election.
#[test]
fn all_nodes_know_the_same_epochs_from_the_start() {
    let cluster = Cluster::start();
    let views = cluster.nodes().iter().map(|node| {
        let view = node.command(&["CLUSTER", "NODES"]).text();
        let fields = view.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let primaries = fields.filter(|fields| fields[3] == "-");
        let mut epochs: Vec<_> = primaries
            .map(|fields| (fields[0].to_owned(), fields[6].to_owned()))
            .collect();
        epochs.sort();
        epochs
    });
    let views: Vec<_> = views.collect();
    assert!(views.iter().all(|view| *view == views[0]), "{views:?}");
}

#[test]
fn writes_reach_the_replica_of_a_node() {
    let cluster = Cluster::start();
    for primary in &cluster.nodes()[..3] {
        let mut connection = primary.connect().unwrap();
        // A write that needs no key.
        connection.command(&["PUBLISH", "a", "b"]).unwrap().ok();
        assert_eq!(
            connection
                .command(&["WAIT", "1", "30000"])
                .unwrap()
                .integer(),
            1
        );
    }
}

#[test]
fn a_slot_moves_there_and_back_with_all_its_keys() {
    let cluster = Cluster::start();
    let slot = slot_of(b"{q}");
    let home = cluster.node_of_slot(slot);
    for number in 0..250 {
        home.command(&["SET", &format!("{{q}}:{number}"), "1"]).ok();
    }
    let away = cluster.other_primary(slot);
    for (from, to) in [(home, away), (away, home)] {
        cluster.move_slot(slot, to);
        assert_eq!(cluster.node_of_slot(slot).port(), to.port());
        assert_eq!(count(to, slot), 250);
        assert_eq!(count(from, slot), 0);
        assert_eq!(to.command(&["GET", "{q}:7"]).text(), "1");
        let moved = format!("MOVED {slot} 127.0.0.1:{}", to.port());
        assert_eq!(from.command(&["GET", "{q}:7"]), Reply::Error(moved));
    }
    cluster.move_slot(slot, home);
}

#[test]
fn a_replica_follows_a_primary_that_was_killed_and_has_its_keys() {
    let cluster = Cluster::start();
    let slot = slot_of(b"a");
    let mut connection = cluster.node_of_slot(slot).connect().unwrap();
    connection.command(&["SET", "a", "1"]).unwrap().ok();
    assert_eq!(
        connection
            .command(&["WAIT", "1", "30000"])
            .unwrap()
            .integer(),
        1
    );

    let old = cluster.kill_primary(slot);
    let new = cluster.wait_for_new_primary(slot, old);

    assert_ne!(new.port(), old.port());
    assert_eq!(new.command(&["GET", "a"]).text(), "1");
    // The old primary comes back as a replica.
    old.restart();
    windlass_testkit::redis::until("the old primary follows", || {
        let role = old.ask(&["ROLE"])?;
        match role.array()[0].text().as_str() {
            "slave" => Ok(()),
            _ => Err(format!("{role:?}")),
        }
    });
}

fn info(node: &Server, field: &str) -> String {
    let info = node.command(&["CLUSTER", "INFO"]);
    info.field(field).expect("CLUSTER INFO has the field")
}

fn count(node: &Server, slot: u16) -> i64 {
    node.command(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()])
        .integer()
}
