//! The health checks of servers: each is made to fail.

use std::time::Duration;

use windlass_testkit::redis::{Fsync, Reply, Server, ServerOptions};

use super::between::Between;
use super::checks::{assert_told, statuses};
use super::place::Place;
use super::sandbox::{Ran, Sandbox};

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

#[test]
fn a_job_that_is_less_safe_than_asked_is_told() {
    let sandbox = Sandbox::new();
    let asked = |level| {
        format!(
            "--store {}?timeout=500ms&durability={level}",
            sandbox.place.url()
        )
    };
    let less = "durability memory where the store's URL asks for replicated:1";
    let store = asked("replicated:1");

    let ran = sandbox.run(&format!("enqueue q x --id a {store}")).ok();
    assert_eq!(
        (ran.text().as_str(), ran.stderr.contains(less)),
        ("a\n", true)
    );

    let lines = b"{\"id\":\"b\"}\n{\"id\":\"c\"}\n";
    let ran = sandbox
        .feed(&format!("enqueue q --ndjson - {store}"), lines)
        .ok();
    assert_eq!(
        (ran.text().as_str(), ran.stderr.matches(less).count()),
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
        .run(&format!("enqueue q x --id e {}", asked("memory")))
        .ok();
    assert_eq!(ran.stderr, "");
}

fn on_tcp() -> Sandbox {
    Sandbox::on(Place::single(ServerOptions::new().tcp().start()))
}

/// Looks through something between.
fn doctor_through(between: Between) -> Ran {
    let sandbox = on_tcp();
    sandbox.run("enqueue q x").ok();
    let url = between.start(sandbox.place.server());
    // Patience: the way is long and the machine may be busy.
    sandbox.run(&format!("doctor --json --store {url}?timeout=60s"))
}

#[test]
fn a_clock_that_is_apart_is_a_warning() {
    let between = Between {
        ahead: 3600,
        ..Between::default()
    };

    let ran = doctor_through(between).ok();

    assert_told(&ran, "clock", "warn", "ahead of this machine");
}

#[test]
fn a_long_way_to_the_server_is_a_warning() {
    let between = Between {
        delay: Duration::from_millis(150),
        ..Between::default()
    };

    let ran = doctor_through(between).ok();

    assert_told(&ran, "latency", "warn", "more than 100ms");
}

#[test]
fn memory_that_is_nearly_used_up_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let server = sandbox.place.server();
    let info = server.command(&["INFO", "memory"]).text();
    let used = info
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.unwrap().trim().parse().unwrap();
    let limit = (used + used / 10).to_string();
    server.command(&["CONFIG", "SET", "maxmemory", &limit]).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_told(&ran, "memory", "warn", "enqueue is refused when it is full");
}

#[test]
fn a_file_that_is_never_synced_is_a_warning() {
    let server = ServerOptions::new().append_only(Fsync::EverySecond).start();
    let sandbox = Sandbox::on(Place::single(server));
    let server = sandbox.place.server();
    server.command(&["CONFIG", "SET", "appendfsync", "no"]).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_told(&ran, "disk", "warn", "may lose many seconds");
}

#[test]
fn a_user_who_may_run_no_scripts_is_told() {
    let sandbox = on_tcp();
    sandbox.run("enqueue q x").ok();
    let rule = "ACL SETUSER joe on >secret ~* &* +@all -evalsha -eval";
    let words: Vec<&str> = rule.split_whitespace().collect();
    sandbox.place.server().command(&words).ok();
    let port = sandbox.place.server().port();

    let ran = sandbox.run(&format!(
        "doctor --json --store redis://joe:secret@127.0.0.1:{port}/0"
    ));

    assert_told(&ran.exits(5), "writes", "fail", "evalsha");
}

#[test]
fn a_server_that_cannot_save_takes_no_writes_and_that_is_told() {
    let server = ServerOptions::new().line("save 3600 1").start();
    let sandbox = Sandbox::on(Place::single(server));
    sandbox.run("enqueue q x").ok();
    let server = sandbox.place.server();
    // A folder stands where the file of a save must go.
    std::fs::create_dir(server.folder().join("dump.rdb")).unwrap();
    server.command(&["BGSAVE"]);
    windlass_testkit::redis::until("the save has failed", || {
        let info = server.command(&["INFO", "persistence"]).text();
        let has_failed = info.contains("rdb_last_bgsave_status:err");
        has_failed.then_some(()).ok_or(info)
    });

    let ran = sandbox.run("doctor --json");

    assert_told(&ran, "writes", "fail", "cannot save to its disk");
    assert_ne!(ran.code, Some(0));
}

#[test]
fn a_worker_that_fell_silent_is_told() {
    let sandbox = Sandbox::new();
    let line = br#"{"op":"register","worker":"w-1","queues":["q"]}"#;
    sandbox.feed("stdio", line).ok();
    let server = sandbox.place.server();
    let words = ["ZINCRBY", "windlass:{*}:seen", "-120000", "w-1"];
    server.command(&words).ok();

    let ran = sandbox.run("doctor --json").ok();

    assert_told(&ran, "workers", "warn", "silent for a minute or more: w-1");
}

/// A hand in the figures of queue q; they are numbered from 1.
fn set_figure(server: &Server, at: usize, number: f64) {
    let key = "windlass:{q}:state";
    let Reply::Bulk(mut figures) = server.command(&["HGET", key, "figures"]) else {
        panic!("the queue has figures");
    };
    figures[8 * (at - 1)..8 * at].copy_from_slice(&number.to_le_bytes());
    let words: [&[u8]; 4] = [b"HSET", key.as_bytes(), b"figures", &figures];
    server.command(&words).ok();
}

/// Bytes stored, and ready jobs of priority 5.
const BYTES: usize = 8;
const READY_5: usize = 31;

#[test]
fn a_queue_that_is_too_large_for_one_server_is_told() {
    for (at, number) in [(READY_5, 1_000_001.0), (BYTES, 2e9)] {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x").ok();
        let line = br#"{"op":"register","worker":"w-1","queues":["q"]}"#;
        sandbox.feed("stdio", line).ok();
        set_figure(sandbox.place.server(), at, number);

        let ran = sandbox.run("doctor --json").ok();

        assert_told(&ran, "queue q", "warn", "too much for one part");
    }
}

#[test]
fn an_audit_tells_what_was_wrong_once() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    set_figure(sandbox.place.server(), READY_5, 7.0);

    let ran = sandbox.run("doctor --audit --json").ok();

    assert_told(&ran, "audit q", "warn", "figures_wrong");
    let ran = sandbox.run("doctor --audit --json").ok();
    assert_eq!(statuses(&ran, "audit q"), ["ok"]);
}
