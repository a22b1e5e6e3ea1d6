//! The health checks of Redis servers: each is made to fail.

use std::time::Duration;

use windlass_testkit::redis::{Fsync, Reply, Server, ServerOptions};

use super::checks::{assert_check, statuses};
use super::proxy::Proxy;
use super::sandbox::{Ran, Sandbox};
use super::test_store::TestStore;

const NAMES: [&str; 6] = [
    "server",
    "eviction",
    "memory",
    "disk",
    "durability",
    "clock",
];

#[test]
fn a_healthy_server_passes_every_check() {
    let server = ServerOptions::new()
        .append_only(Fsync::EverySecond)
        .max_memory(256 * 1024 * 1024)
        .start();
    let sandbox = Sandbox::on(TestStore::single(server));
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
fn every_primary_of_a_cluster_is_checked() {
    let sandbox = Sandbox::on(TestStore::cluster());

    let ran = sandbox.run("doctor --json").ok();

    for name in NAMES {
        assert_eq!(statuses(&ran, name).len(), 3, "{name}: {}", ran.text());
    }
}

#[test]
fn what_needs_attention_is_a_warning_with_a_fix() {
    let sandbox = Sandbox::on(TestStore::single(Server::start()));
    sandbox.run("enqueue waiting x").ok();

    let ran = sandbox.run("doctor --json").ok();

    for name in ["memory", "disk", "queue waiting"] {
        assert_eq!(statuses(&ran, name), ["warn"], "{name}: {}", ran.text());
    }
    let text = sandbox.run("doctor").ok().text();
    assert!(
        text.contains("fix: run CONFIG SET appendonly yes"),
        "{text}"
    );
}

#[test]
fn a_durability_that_cannot_be_reached_is_a_failure() {
    let sandbox = Sandbox::new();
    let store = format!("{}?durability=replicated:2", sandbox.store.url());

    let ran = sandbox.run(&format!("doctor --json --store {store}"));

    assert_eq!(statuses(&ran.exits(1), "durability"), ["fail"]);
    let store = format!("{}?durability=synced", sandbox.store.url());
    let ran = sandbox.run(&format!("doctor --json --store {store}"));
    assert_eq!(statuses(&ran.exits(78), "store"), ["fail"]);
}

#[test]
fn a_job_with_lower_durability_than_required_is_reported() {
    let sandbox = Sandbox::new();
    let with_durability = |level| {
        format!(
            "--store {}?timeout=500ms&durability={level}",
            sandbox.store.url()
        )
    };
    let note = "durability memory, but the store URL requires replicated:1";
    let store = with_durability("replicated:1");

    let ran = sandbox.run(&format!("enqueue q x --id a {store}")).ok();
    assert_eq!(
        (ran.text().as_str(), ran.stderr.contains(note)),
        ("a\n", true)
    );

    let lines = b"{\"id\":\"b\"}\n{\"id\":\"c\"}\n";
    let ran = sandbox
        .feed(&format!("enqueue q --ndjson - {store}"), lines)
        .ok();
    assert_eq!(
        (ran.text().as_str(), ran.stderr.matches(note).count()),
        ("b\nc\n", 1)
    );

    let ran = sandbox
        .run(&format!("enqueue q x --id d --json {store}"))
        .ok();
    assert_eq!(
        (&ran.json()["durability"], ran.stderr.as_str()),
        (&"memory".into(), "")
    );

    let ran = sandbox
        .run(&format!("enqueue q x --id e {}", with_durability("memory")))
        .ok();
    assert_eq!(ran.stderr, "");
}

fn on_tcp() -> Sandbox {
    Sandbox::on(TestStore::single(ServerOptions::new().tcp().start()))
}

/// Runs the doctor through a proxy.
fn doctor_through(proxy: Proxy) -> Ran {
    let sandbox = on_tcp();
    sandbox.run("enqueue q x").ok();
    let url = proxy.start(sandbox.store.server());
    // A long timeout: the proxy adds latency and the machine may be busy.
    sandbox.run(&format!("doctor --json --store {url}?timeout=60s"))
}

#[test]
fn a_clock_that_differs_is_a_warning() {
    let proxy = Proxy {
        ahead: 3600,
        ..Proxy::default()
    };

    let ran = doctor_through(proxy).ok();

    assert_check(&ran, "clock", "warn", "ahead of this machine");
}

#[test]
fn high_latency_is_a_warning() {
    let proxy = Proxy {
        delay: Duration::from_millis(150),
        ..Proxy::default()
    };

    let ran = doctor_through(proxy).ok();

    assert_check(&ran, "latency", "warn", "more than 100ms");
}

#[test]
fn memory_that_is_nearly_used_up_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let server = sandbox.store.server();
    let info = server.command(&["INFO", "memory"]).text();
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.unwrap().trim().parse().unwrap();
    let limit = (used + used / 10).to_string();
    server.command(&["CONFIG", "SET", "maxmemory", &limit]).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_check(&ran, "memory", "warn", "enqueue fails when it is full");
}

#[test]
fn a_file_that_is_never_synced_is_a_warning() {
    let server = ServerOptions::new().append_only(Fsync::EverySecond).start();
    let sandbox = Sandbox::on(TestStore::single(server));
    let server = sandbox.store.server();
    server.command(&["CONFIG", "SET", "appendfsync", "no"]).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_check(&ran, "disk", "warn", "may lose many seconds");
}

#[test]
fn a_user_who_may_not_run_scripts_is_reported() {
    let sandbox = on_tcp();
    sandbox.run("enqueue q x").ok();
    let rule = "ACL SETUSER joe on >secret ~* &* +@all -evalsha -eval";
    let words: Vec<&str> = rule.split_whitespace().collect();
    sandbox.store.server().command(&words).ok();
    let port = sandbox.store.server().port();

    let ran = sandbox.run(&format!(
        "doctor --json --store redis://joe:secret@127.0.0.1:{port}/0"
    ));

    assert_check(&ran.exits(5), "writes", "fail", "evalsha");
}

#[test]
fn a_server_that_cannot_save_rejects_writes_and_is_reported() {
    let server = ServerOptions::new().line("save 3600 1").start();
    let sandbox = Sandbox::on(TestStore::single(server));
    sandbox.run("enqueue q x").ok();
    let server = sandbox.store.server();
    // A folder with the name of the dump file makes the save fail.
    std::fs::create_dir(server.folder().join("dump.rdb")).unwrap();
    server.command(&["BGSAVE"]);
    windlass_testkit::redis::until("the save has failed", || {
        let info = server.command(&["INFO", "persistence"]).text();
        let has_failed = info.contains("rdb_last_bgsave_status:err");
        has_failed.then_some(()).ok_or(info)
    });

    let ran = sandbox.run("doctor --json");

    assert_check(&ran, "writes", "fail", "cannot save to disk");
    assert_ne!(ran.code, Some(0));
}

#[test]
fn a_silent_worker_is_reported() {
    let sandbox = Sandbox::new();
    let line = br#"{"op":"register","worker":"w-1","queues":["q"]}"#;
    sandbox.feed("stdio", line).ok();
    let server = sandbox.store.server();
    let words = ["ZINCRBY", "windlass:{*}:seen", "-120000", "w-1"];
    server.command(&words).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_check(
        &ran,
        "workers",
        "warn",
        "without a heartbeat for a minute or more: w-1",
    );
}

/// Changes a stat of queue q directly; stats are numbered from 1.
fn set_stat(server: &Server, at: usize, number: f64) {
    let key = "windlass:{q}:state";
    let Reply::Bulk(mut stats) = server.command(&["HGET", key, "figures"]) else {
        panic!("the queue has stats");
    };
    stats[8 * (at - 1)..8 * at].copy_from_slice(&number.to_le_bytes());
    let words: [&[u8]; 4] = [b"HSET", key.as_bytes(), b"figures", &stats];
    server.command(&words).ok();
}

/// Stats: bytes stored, and ready jobs of priority 5.
const BYTES: usize = 8;
const READY_5: usize = 26;

#[test]
fn a_queue_that_is_too_large_for_one_server_is_reported() {
    for (at, number) in [(READY_5, 1_000_001.0), (BYTES, 2e9)] {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x").ok();
        let line = br#"{"op":"register","worker":"w-1","queues":["q"]}"#;
        sandbox.feed("stdio", line).ok();
        set_stat(sandbox.store.server(), at, number);

        let ran = sandbox.run("doctor --json").ok();

        assert_check(&ran, "queue q", "warn", "too much for 1 partition");
    }
}

#[test]
fn an_audit_reports_an_error_once() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    set_stat(sandbox.store.server(), READY_5, 7.0);

    let ran = sandbox.run("doctor --audit --json").ok();

    assert_check(&ran, "audit q", "warn", "stats_wrong");
    let ran = sandbox.run("doctor --audit --json").ok();
    assert_eq!(statuses(&ran, "audit q"), ["ok"]);
}
