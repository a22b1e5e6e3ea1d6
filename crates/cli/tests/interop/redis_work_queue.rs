//! `windlass interop redis-work-queue`: the interface for shell scripts.

use serde_json::json;
use windlass_testkit::redis::until;

use crate::sandbox::{Sandbox, text};
use crate::test_store::TestStore;

fn sandbox() -> Sandbox {
    Sandbox::on(TestStore::redis())
}

/// Adds the flags that all commands have.
fn line(command: &str, layout: &str) -> String {
    format!("interop redis-work-queue {command} --prefix p --layout {layout} --json")
}

#[test]
fn an_item_is_added_leased_and_completed() {
    for layout in ["0.1", "0.3"] {
        let sandbox = sandbox();
        let run = |command: &str| sandbox.run(&line(command, layout));

        assert_eq!(run("lease").ok().json(), json!(null), "the queue is empty");
        let added = run("add data --id a").ok().json();
        assert_eq!(added, json!({"id": "a", "added": true}));
        let again = run("add other --id a").ok().json();
        assert_eq!(again, json!({"id": "a", "added": false}));
        assert_eq!(run("len").ok().json(), json!({"queue": 1}));

        let leased = run("lease --lease 10m --wait 10s --session me").ok().json();
        let wanted = json!({"id": "a", "data": "data", "session": "me"});
        assert_eq!(leased, wanted);
        let counts = json!({"queue": 0, "processing": 1});
        assert_eq!(run("counts").ok().json(), counts);
        assert_eq!(run("processing").ok().json(), json!({"processing": 1}));

        let done = run("complete a").ok().json();
        assert_eq!(done, json!({"id": "a", "completed": true}));
        assert_eq!(run("complete a").exits(3).error()["code"], "gone");
    }
}

#[test]
fn only_its_session_renews_and_releases_an_item() {
    let sandbox = sandbox();
    let run = |command: &str| sandbox.run(&line(command, "0.3"));
    run("add data --id a --unique").ok();
    let leased = run("lease --lease 10m").ok().json();
    let mine = text(&leased["session"]);

    assert_eq!(
        run("renew a --session other").exits(4).error()["code"],
        "lease_lost"
    );
    assert_eq!(
        run("release a --session other").exits(4).error()["code"],
        "lease_lost"
    );
    let renewed = run(&format!("renew a --session {mine} --lease 20m"))
        .ok()
        .json();
    assert_eq!(renewed, json!({"id": "a", "renewed": true}));
    let released = run(&format!("release a --session {mine}")).ok().json();
    assert_eq!(released, json!({"id": "a", "released": true}));
    assert_eq!(run("len").ok().json(), json!({"queue": 1}));
}

#[test]
fn binary_data_round_trips_and_bad_arguments_are_usage_errors() {
    let sandbox = sandbox();
    let added = sandbox
        .feed(&line("add - --id a", "0.1"), &[0xff, 0x00])
        .ok();
    assert_eq!(added.json()["added"], true);
    let leased = sandbox.run(&line("lease", "0.1")).ok().json();
    assert_eq!(leased["data_base64"], "/wA=");
    assert!(leased.get("data").is_none());

    sandbox.run(&line("lease --lease 0s", "0.1")).exits(2);
    sandbox.run(&line("lease", "0.2")).exits(2);
    sandbox.run(&line("clean --every 0s", "0.1")).exits(2);
}

#[test]
fn an_item_that_could_not_be_printed_is_returned() {
    let sandbox = sandbox();
    sandbox.run(&line("add data --id a", "0.3")).ok();
    sandbox
        .run_with_closed_stdout(&line("lease", "0.3"))
        .exits(1);
    let counts = sandbox.run(&line("counts", "0.3")).ok().json();
    assert_eq!(counts, json!({"queue": 1, "processing": 0}));
}

#[test]
fn a_clean_returns_abandoned_items_and_a_deep_clean_unlisted_ones() {
    let sandbox = sandbox();
    let server = sandbox.store.server();
    for id in ["abandoned", "stray"] {
        server
            .command(&["SET", &format!("p:item:{id}"), "data"])
            .ok();
    }
    server.command(&["LPUSH", "p:processing", "abandoned"]).ok();

    let light = sandbox.run(&line("clean --grace 1ms", "0.1")).ok().json();
    assert_eq!(
        (&light["requeued"], &light["deep"]),
        (&json!(1), &json!(false))
    );
    let deep = sandbox.run(&line("clean --deep", "0.1")).ok().json();
    assert_eq!(
        (&deep["requeued"], &deep["pending"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        sandbox.run(&line("len", "0.1")).ok().json(),
        json!({"queue": 2})
    );
}

#[test]
fn a_cleaning_process_runs_until_it_is_stopped() {
    let sandbox = sandbox();
    let server = sandbox.store.server();
    let command = "clean --every 20ms --deep-every 40ms --grace 1ms";
    let child = sandbox.start(&line(command, "0.3"));
    for id in ["a", "b"] {
        server
            .command(&["SET", &format!("p:item:{id}"), "data"])
            .ok();
        until("it was returned", || {
            let found = server.command(&["LPOS", "p:queue", id]).ok();
            let is_back = found != windlass_testkit::redis::Reply::Nil;
            is_back.then_some(()).ok_or_else(|| "not yet".to_owned())
        });
    }
    let pid = child.id().to_string();
    let ended = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(ended.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.lines().all(|line| line.starts_with('{')),
        "{printed}"
    );
}
