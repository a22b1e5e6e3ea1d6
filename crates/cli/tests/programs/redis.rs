//! Workers on Redis.

use std::io::{BufRead, BufReader};

use super::sandbox::Sandbox;
use super::test_store::TestStore;

#[test]
fn exec_works_on_redis() {
    let sandbox = Sandbox::on(TestStore::redis());
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
    let sandbox = Sandbox::on(TestStore::redis());
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
fn a_worker_whose_server_is_down_reports_it_and_resumes_when_it_is_back() {
    let sandbox = Sandbox::on(TestStore::redis());
    let mut worker = sandbox.start_exec("", "echo done > done");
    let mut lines = BufReader::new(worker.take_stderr()).lines();
    sandbox.job("1", "1", "");
    assert_eq!(sandbox.line_of("done"), "done");

    sandbox.store.server().kill();

    let error = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.starts_with("error: "));
    let error = error.expect("an error is printed");
    assert!(
        ["cannot connect", "while connecting", "connection"]
            .iter()
            .any(|text| error.contains(text)),
        "{error}"
    );
    let help = lines.next().unwrap().unwrap();
    assert!(help.starts_with("  help: "), "{help}");

    sandbox.store.server().restart();
    std::fs::remove_file(sandbox.path("done")).unwrap();
    sandbox.job("2", "2", "");
    assert_eq!(sandbox.line_of("done"), "done");
    worker.stopped().ok();
}
