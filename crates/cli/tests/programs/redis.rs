//! The same on Redis.

use std::io::{BufRead, BufReader};

use super::place::Place;
use super::sandbox::Sandbox;

#[test]
fn exec_works_on_redis() {
    let sandbox = Sandbox::on(Place::redis());
    for id in ["1", "2", "3"] {
        sandbox.job(id, id, "");
    }

    let summary = sandbox
        .exec("-j 2", "cat; env | grep WINDLASS_STORE; true")
        .ok()
        .json();

    assert_eq!(summary["succeeded"], 3, "{summary}");
    assert_eq!(sandbox.shown("2")["result"], "2");
}

#[test]
fn a_resident_worker_works_on_redis() {
    let sandbox = Sandbox::on(Place::redis());
    for id in ["1", "2", "3"] {
        sandbox.job(id, id, "");
    }
    let script = r#". ./lib.sh
        echo '{"type":"ready"}'; while next_job; do done_with "$id" "$token" "$payload!"; done"#;

    let summary = sandbox.worker("--json --procs 2", script).ok().json();

    assert_eq!(summary["succeeded"], 3, "{summary}");
    assert_eq!(sandbox.shown("2")["result"], "2!");
}

#[test]
fn a_worker_whose_server_is_away_says_so_and_works_on_when_it_is_back() {
    let sandbox = Sandbox::on(Place::redis());
    let mut worker = sandbox.start_exec("", "echo done > done");
    let mut lines = BufReader::new(worker.take_stderr()).lines();
    sandbox.job("1", "1", "");
    assert_eq!(sandbox.line_of("done"), "done");

    sandbox.place.server().kill();

    let told = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.starts_with("error: "));
    let told = told.expect("it says something before it ends");
    assert!(
        told.contains("cannot be reached") || told.contains("connection"),
        "{told}"
    );
    let help = lines.next().unwrap().unwrap();
    assert!(help.starts_with("  help: "), "{help}");

    sandbox.place.server().restart();
    std::fs::remove_file(sandbox.path("done")).unwrap();
    sandbox.job("2", "2", "");
    assert_eq!(sandbox.line_of("done"), "done");
    worker.stopped().ok();
}
