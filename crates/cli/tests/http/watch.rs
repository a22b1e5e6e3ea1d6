//! `windlass demo --watch`: a living store within seconds, and nothing left of it.

use serde_json::Value;
use windlass_testkit::redis::{Reply, until};

use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::test_store::TestStore;

fn assert_lives(sandbox: &Sandbox, line: &str) {
    let server = TestServer::start(sandbox, line, |command| {
        command.env("TMPDIR", sandbox.path(""));
        // Only an explicit --store counts.
        command.env("WINDLASS_STORE", "sqlite:other.db");
        command.env("WINDLASS_HTTP_TOKEN", "not even a valid token");
    });
    let queues = || server.request("GET", "/v1/queues", "").json(200);
    let total = |queues: &Value, name: &str, field: &str| {
        let found = queues.as_array().unwrap().iter();
        let found = found.filter(|queue| queue["queue"] == name);
        found
            .map(|queue| queue["total"][field].as_u64().unwrap())
            .sum::<u64>()
    };
    until("jobs end", || {
        let now = queues();
        let is_alive = ["mail", "webhooks"].map(|queue| total(&now, queue, "succeeded") > 0);
        let is_alive = is_alive == [true; 2];
        is_alive.then_some(()).ok_or(now.to_string())
    });
    let now = queues();
    assert_eq!(now[3]["schedules"], 3, "{now}");
    assert_eq!(total(&now, "imports", "enqueued"), 400, "{now}");
    assert_eq!(total(&now, "imports", "succeeded"), 0, "{now}");

    let (code, _) = server.terminate();

    assert_eq!(code, Some(0));
    let left = std::fs::read_dir(sandbox.path("")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_watched_demo_lives_in_a_temporary_file_until_it_is_stopped() {
    assert_lives(&Sandbox::new(), "demo --watch --listen 127.0.0.1:0");
}

#[test]
fn a_watched_demo_leaves_nothing_on_a_shared_server() {
    let sandbox = Sandbox::on(TestStore::redis());
    let url = sandbox.store.server().url();
    assert_lives(
        &sandbox,
        &format!("demo --watch --listen 127.0.0.1:0 --store {url}"),
    );
    let keys = sandbox.store.server().command(&["DBSIZE"]);
    assert!(matches!(keys, Reply::Integer(0)), "{keys:?}");
}

#[test]
fn a_watched_demo_is_only_for_this_machine() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("demo --watch --listen 0.0.0.0:0");
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    let ran = sandbox.run("demo --listen 127.0.0.1:0").exits(2);
    assert!(ran.stderr.contains("--watch"), "{}", ran.stderr);
}
