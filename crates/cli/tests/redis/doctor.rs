//! The health checks of servers.

use serde_json::Value;
use windlass_testkit::redis::{Fsync, Server, ServerOptions};

use super::place::Place;
use super::sandbox::{Ran, Sandbox};

fn statuses(ran: &Ran, name: &str) -> Vec<Value> {
    let reply = ran.json();
    let checks = reply["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["name"] == name)
        .map(|check| check["status"].clone())
        .collect()
}

const NAMES: [&str; 6] = [
    "server",
    "eviction",
    "memory",
    "disk",
    "durability",
    "clock",
];

#[test]
fn a_sound_server_is_healthy() {
    let server = ServerOptions::new()
        .append_only(Fsync::EverySecond)
        .max_memory(256 * 1024 * 1024)
        .start();
    let sandbox = Sandbox::on(Place::single(server));
    sandbox.run("queue pause q").ok();
    sandbox.run("queue resume q").ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_eq!(ran.json()["healthy"], true);
    for name in NAMES {
        assert_eq!(statuses(&ran, name), ["ok"], "{name}: {}", ran.text());
    }
    assert_eq!(statuses(&ran, "queue q"), ["ok"]);
}

#[test]
fn every_primary_of_a_cluster_is_looked_at() {
    let sandbox = Sandbox::on(Place::cluster());

    let ran = sandbox.run("doctor --json").ok();

    for name in NAMES {
        assert_eq!(statuses(&ran, name).len(), 3, "{name}: {}", ran.text());
    }
}

#[test]
fn what_needs_attention_is_a_warning_with_a_fix() {
    let sandbox = Sandbox::on(Place::single(Server::start()));
    sandbox.run("enqueue waiting x").ok();

    let ran = sandbox.run("doctor --json").ok();

    for name in ["memory", "disk", "queue waiting"] {
        assert_eq!(statuses(&ran, name), ["warn"], "{name}: {}", ran.text());
    }
    let text = sandbox.run("doctor").ok().text();
    assert!(text.contains("fix: CONFIG SET appendonly yes"), "{text}");
}

#[test]
fn a_durability_that_cannot_be_reached_is_a_failure() {
    let sandbox = Sandbox::new();
    let store = format!("{}?durability=replicated:2", sandbox.place.url());

    let ran = sandbox.run(&format!("doctor --json --store {store}"));

    assert_eq!(statuses(&ran.exits(1), "durability"), ["fail"]);
    let store = format!("{}?durability=synced", sandbox.place.url());
    let ran = sandbox.run(&format!("doctor --json --store {store}"));
    assert_eq!(statuses(&ran.exits(78), "store"), ["fail"]);
}
