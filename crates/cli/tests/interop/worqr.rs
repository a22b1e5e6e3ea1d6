//! `windlass interop worqr`: one command per operation.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::redis::until;

use super::sandbox::{Ran, Sandbox, text};
use super::test_store::TestStore;

fn sandbox() -> Sandbox {
    Sandbox::on(TestStore::redis())
}

fn worqr(sandbox: &Sandbox, line: &str) -> Ran {
    sandbox.run(&format!("interop worqr {line} --json"))
}

fn answer(sandbox: &Sandbox, line: &str) -> Value {
    worqr(sandbox, line).ok().json()
}

/// A worker `w` that serves `mail` and lives as long as the test.
fn serving(sandbox: &Sandbox, flags: &str) {
    worqr(sandbox, &format!("start-worker w --timeout 1h {flags}")).ok();
    worqr(sandbox, &format!("start-work mail --worker w {flags}")).ok();
}

fn started(sandbox: &Sandbox) -> String {
    let process = answer(sandbox, "start-task mail --worker w");
    text(&process["id"]).to_owned()
}

#[test]
fn a_task_goes_through_every_step_in_either_layout() {
    for flags in ["", "--layout document", "--prefix my_app"] {
        let sandbox = sandbox();
        let does = |line: &str| answer(&sandbox, &format!("{line} {flags}"));
        let queued = json!({"queue": "mail", "enqueued": 2, "duplicate": false});
        assert_eq!(does("enqueue mail a b"), queued);
        serving(&sandbox, flags);
        let process = does("start-task mail --worker w");
        assert_eq!(process["task"], "a");
        let id = text(&process["id"]);
        assert_eq!(does("processes"), json!([{"id": id, "task": "a"}]));
        assert_eq!(does("processes a"), json!([{"id": id}]));
        let stopped = does(&format!("stop-task {id} --worker w"));
        assert_eq!(stopped, json!({"id": id, "stopped": true}));
        assert_eq!(does("peek mail"), json!({"task": "a"}));
        let process = does("start-task mail --worker w");
        let id = text(&process["id"]);
        let finished = does(&format!("finish-task {id} --worker w --result 0"));
        assert_eq!(finished, json!({"id": id, "finished": true}));
        assert_eq!(does("count mail"), json!({"queue": "mail", "count": 1}));
    }
}

#[test]
fn queues_can_be_looked_at_and_deleted() {
    let sandbox = sandbox();
    assert_eq!(answer(&sandbox, "queues"), json!([]));
    assert_eq!(answer(&sandbox, "peek mail"), Value::Null);
    answer(&sandbox, "enqueue mail a b c");
    answer(&sandbox, "enqueue post z");
    let queues = json!([{"queue": "mail", "count": 3}, {"queue": "post", "count": 1}]);
    assert_eq!(answer(&sandbox, "queues"), queues);
    let newest = json!([{"task": "c"}, {"task": "b"}]);
    assert_eq!(answer(&sandbox, "tasks mail --limit 2"), newest);
    let request = json!({"queue": "mail", "waiting": 3});
    assert_eq!(answer(&sandbox, "request-work mail"), request);
    let cancelled = json!({"queue": "mail", "cancelled": 1});
    assert_eq!(answer(&sandbox, "cancel mail b"), cancelled);
    let deleted = json!({"queue": "mail", "deleted": 2});
    assert_eq!(answer(&sandbox, "delete mail"), deleted);
    assert_eq!(sandbox.store.server().command(&["DBSIZE"]).integer(), 1);
}

#[test]
fn a_unique_task_is_enqueued_once_and_a_duplicate_is_no_failure() {
    let sandbox = sandbox();
    let first = answer(&sandbox, "enqueue mail a --unique");
    let second = answer(&sandbox, "enqueue mail a --unique");
    assert_eq!(
        (&first["enqueued"], &second["enqueued"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(second["duplicate"], true);
    worqr(&sandbox, "enqueue mail a b --unique").exits(2);
}

#[test]
fn a_task_of_any_bytes_comes_through_standard_input() {
    let sandbox = sandbox();
    let fed = sandbox.feed("interop worqr enqueue mail -", b"\xff\x00");
    fed.ok();
    let peeked = answer(&sandbox, "peek mail");
    assert_eq!(peeked, json!({"task_base64": "/wA="}));
}

#[test]
fn nothing_to_start_is_null_and_no_failure() {
    let sandbox = sandbox();
    serving(&sandbox, "");
    let nothing = answer(&sandbox, "start-task mail --worker w --wait 10ms");
    assert_eq!(nothing, Value::Null);
}

#[test]
fn what_is_refused_has_its_exit_code() {
    let sandbox = sandbox();
    let code = |line: &str, exit: i32, code: &str| {
        let error = worqr(&sandbox, line).exits(exit).error();
        assert_eq!(error["code"], code, "{line}");
    };
    code("start-work mail --worker w", 3, "not_found");
    code("fail-worker w", 3, "not_found");
    code("keep-alive w", 4, "conflict");
    code("start-task mail --worker w", 4, "conflict");
    code("finish-task mail_1 --worker w", 4, "conflict");
    code("stop-task mail_1 --worker w", 4, "conflict");
    code(
        "finish-task mail_1 --worker w --result not-json",
        2,
        "usage",
    );
    code("cleanup --every 0s", 2, "usage");
    code("enqueue Workers a --layout document", 2, "invalid");
    let file = sandbox.run("interop worqr queues --json --store sqlite:here.db");
    file.exits(2);
}

#[test]
fn a_process_that_went_back_cannot_be_finished() {
    let sandbox = sandbox();
    answer(&sandbox, "enqueue mail a b");
    serving(&sandbox, "");
    let id = started(&sandbox);
    let failed = json!({"worker": "w", "returned": 1, "undecided": false});
    assert_eq!(answer(&sandbox, "fail-worker w"), failed);
    let refused = worqr(&sandbox, &format!("finish-task {id} --worker w"));
    refused.exits(4);
    assert_eq!(answer(&sandbox, "peek mail"), json!({"task": "a"}));
}

#[test]
fn workers_are_kept_alive_stopped_and_cleaned_up() {
    let sandbox = sandbox();
    answer(&sandbox, "enqueue mail a");
    serving(&sandbox, "");
    assert_eq!(answer(&sandbox, "workers"), json!([{"worker": "w"}]));
    let alive = answer(&sandbox, "keep-alive w --timeout 1h");
    assert_eq!(alive, json!({"worker": "w"}));
    started(&sandbox);
    let stopped = answer(&sandbox, "stop-work mail --worker w");
    assert_eq!(
        stopped,
        json!({"worker": "w", "queue": "mail", "returned": 1})
    );
    answer(&sandbox, "start-work mail --worker w");
    started(&sandbox);
    let server = sandbox.store.server();
    server.command(&["DEL", "worqr:workerTimers:w"]).ok();
    let cleaned = json!({"workers": ["w"], "returned": 1, "undecided": []});
    assert_eq!(answer(&sandbox, "cleanup"), cleaned);
    let nobody = json!({"workers": [], "returned": 0, "undecided": []});
    assert_eq!(answer(&sandbox, "cleanup"), nobody);
}

#[test]
fn a_worker_that_stays_is_alive_until_it_is_ended_and_leaves_nothing() {
    let sandbox = sandbox();
    answer(&sandbox, "enqueue mail a");
    let mut child = sandbox.start("interop worqr start-worker w --stay --timeout 1h --json");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"worker\":\"w\"}\n");
    answer(&sandbox, "start-work mail --worker w");
    started(&sandbox);
    let server = sandbox.store.server();
    let timer = "worqr:workerTimers:w";
    server.command(&["EXPIRE", timer, "600"]).ok();
    until("it beats", || {
        let left = server.command(&["TTL", timer]).integer();
        if left > 600 {
            Ok(())
        } else {
            Err(format!("{left} s are left"))
        }
    });
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(answer(&sandbox, "workers"), json!([]));
    assert_eq!(answer(&sandbox, "peek mail"), json!({"task": "a"}));
}

#[test]
fn what_happens_is_printed_one_document_a_line() {
    let sandbox = sandbox();
    let mut child = sandbox.start("interop worqr listen mail --json");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(next(), json!({"event": "listening"}));
    answer(&sandbox, "enqueue mail a b");
    serving(&sandbox, "");
    let id = started(&sandbox);
    answer(
        &sandbox,
        &format!("finish-task {id} --worker w --result false"),
    );
    answer(&sandbox, "cancel mail b");
    answer(&sandbox, "delete mail");
    let work = json!({"event": "work", "queue": "mail", "count": 2});
    assert_eq!((next(), next()), (work.clone(), work));
    let done = json!({
        "event": "done", "queue": "mail", "worker": "w", "task": "a", "result": false
    });
    assert_eq!(next(), done);
    let cancel = json!({"event": "cancel", "queue": "mail", "task": "b"});
    assert_eq!(next(), cancel);
    assert_eq!(next(), json!({"event": "delete", "queue": "mail"}));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    child.wait().unwrap();
}
