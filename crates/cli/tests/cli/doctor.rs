//! The health checks.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::sandbox::{Ran, Sandbox};

fn status(ran: &Ran, name: &str) -> Vec<Value> {
    let reply = ran.json();
    let checks = reply["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["name"] == name)
        .map(|check| check["status"].clone())
        .collect()
}

#[test]
fn a_sound_store_is_healthy() {
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
    ] {
        assert_eq!(status(&ran, name), ["ok"], "{name}");
    }
    assert_eq!(status(&ran, "queue q"), ["ok"]);
}

#[test]
fn what_needs_attention_is_a_warning_with_a_fix() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue waiting x").ok();
    sandbox.run("queue pause paused").ok();
    let file = sandbox.path("windlass.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();

    let ran = sandbox.run("doctor --json").ok();

    for name in ["queue waiting", "queue paused", "permissions"] {
        assert_eq!(status(&ran, name), ["warn"], "{name}");
    }
    let checks = ran.json()["checks"].clone();
    let warnings = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["status"] == "warn");
    assert!(
        warnings.clone().all(|check| check["fix"].is_string()),
        "{checks}"
    );
    let text = sandbox.run("doctor").ok().text();
    assert!(
        text.contains("warn") && text.contains("fix: windlass queue resume paused"),
        "{text}"
    );
}

#[test]
fn a_store_that_is_not_there_is_a_failed_check() {
    let ran = Sandbox::new().run("doctor --json").exits(69);

    assert_eq!(ran.json()["healthy"], false);
    assert_eq!(status(&ran, "store"), ["fail"]);
}
