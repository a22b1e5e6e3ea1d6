//! The demo on shared servers: no job is lost, and no key is left behind.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::redis::{ServerOptions, until};

use super::sandbox::{Sandbox, has_fields};
use super::test_store::TestStore;

fn assert_demo_runs(store: TestStore) {
    let sandbox = Sandbox::on(store);
    sandbox.run("enqueue mine x --id 1").ok();
    let before = sandbox.store.keys();

    let line = format!(
        "demo --jobs 1200 --workers 3 --json --store {}",
        sandbox.store.url()
    );
    let report = sandbox.run(&line).ok().json();

    has_fields(
        &report,
        "accepted succeeded dead retried rescued lost seconds jobs_per_second wait_ms",
    );
    assert_eq!(
        (&report["accepted"], &report["lost"]),
        (&1200.into(), &0.into())
    );
    assert_eq!(report["dead"], 3, "{report}");
    assert!(report["rescued"].as_u64().unwrap() > 0, "{report}");
    assert!(report["retried"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(sandbox.store.keys(), before);
    assert_eq!(sandbox.claim("mine")["id"], "1");
}

#[test]
fn the_demo_leaves_a_single_server_unchanged() {
    assert_demo_runs(TestStore::new());
}

#[test]
fn the_demo_leaves_a_primary_behind_sentinels_unchanged() {
    assert_demo_runs(TestStore::sentinels());
}

#[test]
fn the_demo_leaves_a_cluster_unchanged() {
    assert_demo_runs(TestStore::cluster());
}

#[test]
fn a_demo_without_a_store_ignores_servers_and_the_configuration_file() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("windlass.toml"), "stor = 5").unwrap();

    let report = sandbox
        .run("demo --jobs 100 --workers 2 --json")
        .ok()
        .json();

    assert_eq!(report["lost"], 0);
    assert!(!sandbox.has_store());
}

#[test]
fn a_demo_that_fails_leaves_nothing_behind() {
    let server = ServerOptions::new().max_memory(3 * 1024 * 1024).start();
    let sandbox = Sandbox::on(TestStore::single(server));
    let line = format!("demo --jobs 1000000 --json --store {}", sandbox.store.url());

    let ran = sandbox.run(&line).exits(75);

    assert_eq!(ran.error()["code"], "store_full");
    assert_eq!(sandbox.store.keys(), [""; 0]);
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::new();
        let line = format!("demo --jobs 1000000 --store {}", sandbox.store.url());
        let mut child = sandbox.start(&line);
        let mut first = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut first).unwrap();
        assert!(first.starts_with("running 1000000 jobs"), "{first}");
        let jobs = || {
            sandbox
                .store
                .keys()
                .iter()
                .any(|key| key.ends_with(":jobs"))
        };
        until("jobs are enqueued", || {
            jobs().then_some(()).ok_or(String::new())
        });

        kill_process(Pid::from_child(&child), signal).unwrap();

        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal:?}");
        assert_eq!(sandbox.store.keys(), [""; 0], "{signal:?}");
    }
}
