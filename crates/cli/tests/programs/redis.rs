//! Workers on Redis.

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
