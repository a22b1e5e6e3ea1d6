//! The health checks of every store.

use super::checks::{assert_check, statuses};
use super::sandbox::{Sandbox, text};

/// Registers a worker with this version.
fn register(sandbox: &Sandbox, name: &str, version: &str) {
    let line =
        format!(r#"{{"op":"register","worker":"{name}","version":"{version}","queues":["q"]}}"#);
    let reply = sandbox.feed("stdio", line.as_bytes()).ok().json();
    assert_eq!(reply["ok"], true, "{reply}");
}

#[test]
fn writes_succeed_and_their_latency_is_measured() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_eq!(statuses(&ran, "writes"), ["ok"]);
    assert_eq!(statuses(&ran, "latency").len(), 1);
    assert_eq!(statuses(&ran, "workers"), ["ok"]);
    assert!(statuses(&ran, "version").is_empty());
}

#[test]
fn workers_of_another_version_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    register(&sandbox, "same", env!("CARGO_PKG_VERSION"));
    let ran = sandbox.run("doctor --json").ok();
    assert_eq!(statuses(&ran, "version"), ["ok"]);

    register(&sandbox, "old", "0.0.1");

    let ran = sandbox.run("doctor --json").ok();
    assert_check(&ran, "version", "warn", "old 0.0.1");
    // The queue has a worker.
    assert_eq!(statuses(&ran, "queue q"), ["ok"]);
}

#[test]
fn jobs_without_a_worker_paused_queues_and_dead_jobs_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue waiting x").ok();
    sandbox.run("queue pause paused").ok();
    sandbox.run("enqueue dead x --id 1").ok();
    let token = text(&sandbox.claim("dead")["token"]).to_owned();
    let line = format!("fail dead 1 --token {token} --error no --permanent");
    sandbox.run(&line).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_check(
        &ran,
        "queue waiting",
        "warn",
        "no worker claims from this queue",
    );
    assert_check(&ran, "queue paused", "warn", "paused, 0 jobs ready");
    assert_check(&ran, "queue dead", "warn", "1 dead job");
}

#[test]
fn a_schedule_whose_queue_has_no_worker_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("schedules put q hourly --every 1h x").ok();
    let ran = sandbox.run("doctor --json").ok();
    assert_check(&ran, "queue q", "warn", "no worker claims from this queue");

    register(&sandbox, "w-1", env!("CARGO_PKG_VERSION"));

    let ran = sandbox.run("doctor --json").ok();
    assert_eq!(statuses(&ran, "queue q"), ["ok"]);
}

#[test]
fn an_audit_of_a_consistent_store_finds_nothing() {
    let sandbox = Sandbox::new();
    sandbox
        .feed("enqueue q --ndjson -", "{}\n".repeat(50).as_bytes())
        .ok();
    sandbox.claim("q");

    let ran = sandbox.run("doctor --audit --json").ok();

    assert_eq!(statuses(&ran, "audit q"), ["ok"]);
    assert!(ran.text().contains("50 jobs checked, 0 errors repaired"));
}
