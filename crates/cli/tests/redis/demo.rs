//! The demo on servers that others use: nothing lost, and nothing left behind.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::redis::{ServerOptions, until};

use super::place::Place;
use super::sandbox::{Sandbox, has_fields};

fn assert_plays(place: Place) {
    let sandbox = Sandbox::on(place);
    sandbox.run("enqueue mine x --id 1").ok();
    let before = sandbox.place.keys();

    let line = format!(
        "demo --jobs 1200 --workers 3 --json --store {}",
        sandbox.place.url()
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
    assert_eq!(sandbox.place.keys(), before);
    assert_eq!(sandbox.claim("mine")["id"], "1");
}

#[test]
fn one_server_plays_the_demo_and_is_as_before() {
    assert_plays(Place::new());
}

#[test]
fn a_primary_known_to_sentinels_plays_the_demo_and_is_as_before() {
    assert_plays(Place::sentinels());
}

#[test]
fn a_cluster_plays_the_demo_and_is_as_before() {
    assert_plays(Place::cluster());
}

#[test]
fn a_demo_without_a_store_leaves_servers_and_the_file_of_settings_alone() {
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
    let sandbox = Sandbox::on(Place::single(server));
    let line = format!("demo --jobs 1000000 --json --store {}", sandbox.place.url());

    let ran = sandbox.run(&line).exits(75);

    assert_eq!(ran.error()["code"], "store_full");
    assert_eq!(sandbox.place.keys(), [""; 0]);
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::new();
        let line = format!("demo --jobs 1000000 --store {}", sandbox.place.url());
        let mut child = sandbox.start(&line);
        let mut first = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut first).unwrap();
        assert!(first.starts_with("1000000 jobs"), "{first}");
        let jobs = || {
            sandbox
                .place
                .keys()
                .iter()
                .any(|key| key.ends_with(":jobs"))
        };
        until("jobs are enqueued", || {
            jobs().then_some(()).ok_or(String::new())
        });

        kill_process(Pid::from_child(&child), signal).unwrap();

        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal:?}");
        assert_eq!(sandbox.place.keys(), [""; 0], "{signal:?}");
    }
}
