//! The health checks of a SQLite store: each is made to fail.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::bad_store::{in_namespace, program, quoted};
use super::checks::{assert_check, statuses};
use super::sandbox::Sandbox;

/// Modifies the store's file directly.
fn change(sandbox: &Sandbox, sql: &str) {
    let db = rusqlite::Connection::open(sandbox.path("windlass.db")).unwrap();
    assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
}

fn register(sandbox: &Sandbox) {
    let line = br#"{"op":"register","worker":"w-1","queues":["q"]}"#;
    sandbox.feed("stdio", line).ok();
}

#[test]
fn a_healthy_store_passes_every_check() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();
    sandbox.run("queue resume q").ok();

    let ran = sandbox.run("doctor --deep --json").ok();

    assert_eq!(ran.json()["healthy"], true);
    for name in [
        "store",
        "sqlite",
        "schema",
        "journal",
        "synchronous",
        "permissions",
        "pages",
        "writes",
        "folder",
    ] {
        assert_eq!(statuses(&ran, name), ["ok"], "{name}");
    }
    assert_eq!(statuses(&ran, "queue q"), ["ok"]);
    assert!(statuses(&ran, "sockets").is_empty());
}

#[test]
fn what_needs_attention_is_a_warning_with_a_fix() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause paused").ok();
    let file = sandbox.path("windlass.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();

    let ran = sandbox.run("doctor --json").ok();

    assert_check(&ran, "permissions", "warn", "other users on this machine");
    let text = sandbox.run("doctor").ok().text();
    assert!(
        text.contains("warn")
            && text.contains("fix: resume it with `windlass queue resume paused`"),
        "{text}"
    );
}

#[test]
fn a_missing_store_is_a_failed_check() {
    let ran = Sandbox::new().run("doctor --json").exits(69);

    assert_eq!(ran.json()["healthy"], false);
    assert_check(&ran, "store", "fail", "no store at");
    assert_eq!(statuses(&ran, "folder"), ["ok"]);
}

/// Runs the doctor in a mount namespace prepared by `setup`.
fn doctor_in(setup: &str, folder: &std::path::Path) -> super::sandbox::Ran {
    let store = format!("sqlite:{}", folder.join("windlass.db").display());
    let store = quoted(std::path::Path::new(&store));
    in_namespace(
        setup,
        &format!("{} doctor --json --store {store}", program()),
    )
}

#[test]
fn a_folder_that_is_not_writable_is_a_failed_check() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let folder = sandbox.path(".").canonicalize().unwrap();
    let setup = format!(
        "mount --bind {0} {0} && mount -o remount,bind,ro {0}",
        quoted(&folder)
    );

    let ran = doctor_in(&setup, &folder).exits(5);

    assert_check(&ran, "folder", "fail", "is not writable");
}

#[test]
fn a_disk_that_is_nearly_full_is_a_warning() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path(".").canonicalize().unwrap();
    let store = quoted(&folder.join("windlass.db"));
    let setup = format!(
        "mount -t tmpfs -o size=16m tmpfs {} && {} enqueue q x --store sqlite:{store} > /dev/null",
        quoted(&folder),
        program()
    );

    let ran = doctor_in(&setup, &folder).ok();

    assert_check(&ran, "space", "warn", "MiB free");
}

#[test]
fn a_socket_of_a_killed_process_is_reported_until_it_is_removed() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue other x").ok();
    let doctor = || sandbox.run("doctor --json").ok();
    let mut waiting = sandbox.start("claim q --wait 10m");
    let began = Instant::now();
    while statuses(&doctor(), "sockets") != ["ok"] || !doctor().text().contains("1 processes wait")
    {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the claim never waits"
        );
    }

    waiting.kill().unwrap();
    waiting.wait().unwrap();

    assert_check(&doctor(), "sockets", "warn", "left by killed processes");
    sandbox.run("enqueue q x").ok();
    assert_eq!(statuses(&doctor(), "sockets"), ["ok"]);
}

#[test]
fn a_store_that_rejects_writes_is_a_failed_check() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    let _lock = sandbox.lock_store();

    let ran = sandbox.run("doctor --json").exits(1);

    assert_check(&ran, "writes", "fail", "is locked by another process");
    assert_eq!(statuses(&ran, "store"), ["ok"]);
    assert!(statuses(&ran, "latency").is_empty());
}

#[test]
fn a_silent_worker_is_reported() {
    let sandbox = Sandbox::new();
    register(&sandbox);
    assert_eq!(
        statuses(&sandbox.run("doctor --json").ok(), "workers"),
        ["ok"]
    );

    change(&sandbox, "UPDATE worker SET last_seen = last_seen - 120000");

    let ran = sandbox.run("doctor --json").ok();
    assert_check(
        &ran,
        "workers",
        "warn",
        "without a heartbeat for a minute or more: w-1",
    );
}

#[test]
fn jobs_that_wait_for_hours_despite_a_worker_are_reported() {
    let sandbox = Sandbox::new();
    register(&sandbox);
    sandbox.run("enqueue q x").ok();
    assert_eq!(
        statuses(&sandbox.run("doctor --json").ok(), "queue q"),
        ["ok"]
    );

    change(&sandbox, "UPDATE job SET due_at = due_at - 7200000");

    let ran = sandbox.run("doctor --json").ok();
    assert_check(&ran, "queue q", "warn", "workers do not keep up");
}

#[test]
fn an_audit_reports_an_error_once() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    change(
        &sandbox,
        "UPDATE queue SET stats = replace(stats, '1', '7')",
    );

    let ran = sandbox.run("doctor --audit --json").ok();

    assert_check(&ran, "audit q", "warn", "stats");
    let ran = sandbox.run("doctor --audit --json").ok();
    assert_eq!(statuses(&ran, "audit q"), ["ok"]);
}

#[test]
fn a_corrupt_page_is_found_by_a_deep_check() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    // An index that misses a row is found only by reading all of it.
    let db = rusqlite::Connection::open(sandbox.path("windlass.db")).unwrap();
    let sql = "PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'tombstone_until')
        WHERE name = 'job_scheduled';";
    db.execute_batch(sql).unwrap();
    drop(db);

    let ran = sandbox.run("doctor --deep --json");

    assert_ne!(ran.code, Some(0));
    assert!(
        statuses(&ran, "pages").contains(&"fail".into()),
        "{}",
        ran.text()
    );
}
