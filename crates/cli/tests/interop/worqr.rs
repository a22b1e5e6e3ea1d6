//! `windlass interop worqr`: one command per operation.

use std::io::{BufRead, BufReader};
use std::process::Child;

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

fn reply(sandbox: &Sandbox, line: &str) -> Value {
    worqr(sandbox, line).ok().json()
}

/// Starts a worker `w` that serves `mail` and stays alive during the test.
fn start_worker(sandbox: &Sandbox, flags: &str) {
    worqr(sandbox, &format!("start-worker w --timeout 1h {flags}")).ok();
    worqr(sandbox, &format!("start-work mail --worker w {flags}")).ok();
}

fn start_task(sandbox: &Sandbox) -> String {
    let process = reply(sandbox, "start-task mail --worker w");
    text(&process["id"]).to_owned()
}

#[test]
fn a_task_goes_through_all_commands_in_both_layouts() {
    for flags in ["", "--layout document", "--prefix my_app"] {
        let sandbox = sandbox();
        let run = |line: &str| reply(&sandbox, &format!("{line} {flags}"));
        let queued = json!({"queue": "mail", "enqueued": 2, "duplicate": false});
        assert_eq!(run("enqueue mail a b"), queued);
        start_worker(&sandbox, flags);
        let process = run("start-task mail --worker w");
        assert_eq!(process["task"], "a");
        let id = text(&process["id"]);
        assert_eq!(run("processes"), json!([{"id": id, "task": "a"}]));
        assert_eq!(run("processes a"), json!([{"id": id}]));
        let stopped = run(&format!("stop-task {id} --worker w"));
        assert_eq!(stopped, json!({"id": id, "stopped": true}));
        assert_eq!(run("peek mail"), json!({"task": "a"}));
        let process = run("start-task mail --worker w");
        let id = text(&process["id"]);
        let finished = run(&format!("finish-task {id} --worker w --result 0"));
        assert_eq!(finished, json!({"id": id, "finished": true}));
        assert_eq!(run("count mail"), json!({"queue": "mail", "count": 1}));
    }
}

#[test]
fn queues_can_be_listed_and_deleted() {
    let sandbox = sandbox();
    assert_eq!(reply(&sandbox, "queues"), json!([]));
    assert_eq!(reply(&sandbox, "peek mail"), Value::Null);
    reply(&sandbox, "enqueue mail a b c");
    reply(&sandbox, "enqueue post z");
    let queues = json!([{"queue": "mail", "count": 3}, {"queue": "post", "count": 1}]);
    assert_eq!(reply(&sandbox, "queues"), queues);
    let newest = json!([{"task": "c"}, {"task": "b"}]);
    assert_eq!(reply(&sandbox, "tasks mail --limit 2"), newest);
    let request = json!({"queue": "mail", "waiting": 3});
    assert_eq!(reply(&sandbox, "request-work mail"), request);
    let cancelled = json!({"queue": "mail", "cancelled": 1});
    assert_eq!(reply(&sandbox, "cancel mail b"), cancelled);
    let deleted = json!({"queue": "mail", "deleted": 2});
    assert_eq!(reply(&sandbox, "delete mail"), deleted);
    assert_eq!(sandbox.store.server().command(&["DBSIZE"]).integer(), 1);
}

#[test]
fn a_unique_task_is_enqueued_once_and_a_duplicate_is_no_error() {
    let sandbox = sandbox();
    let first = reply(&sandbox, "enqueue mail a --unique");
    let second = reply(&sandbox, "enqueue mail a --unique");
    assert_eq!(
        (&first["enqueued"], &second["enqueued"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(second["duplicate"], true);
    worqr(&sandbox, "enqueue mail a b --unique").exits(2);
}

#[test]
fn a_binary_task_is_read_from_stdin() {
    let sandbox = sandbox();
    let fed = sandbox.feed("interop worqr enqueue mail -", b"\xff\x00");
    fed.ok();
    let peeked = reply(&sandbox, "peek mail");
    assert_eq!(peeked, json!({"task_base64": "/wA="}));
}

#[test]
fn an_empty_queue_gives_null_and_no_error() {
    let sandbox = sandbox();
    start_worker(&sandbox, "");
    let nothing = reply(&sandbox, "start-task mail --worker w --wait 10ms");
    assert_eq!(nothing, Value::Null);
}

#[test]
fn errors_have_their_exit_codes() {
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
fn a_process_whose_task_was_returned_cannot_be_finished() {
    let sandbox = sandbox();
    reply(&sandbox, "enqueue mail a b");
    start_worker(&sandbox, "");
    let id = start_task(&sandbox);
    let failed = json!({"worker": "w", "returned": 1, "undecided": false});
    assert_eq!(reply(&sandbox, "fail-worker w"), failed);
    let refused = worqr(&sandbox, &format!("finish-task {id} --worker w"));
    refused.exits(4);
    assert_eq!(reply(&sandbox, "peek mail"), json!({"task": "a"}));
}

#[test]
fn workers_are_kept_alive_stopped_and_cleaned_up() {
    let sandbox = sandbox();
    reply(&sandbox, "enqueue mail a");
    start_worker(&sandbox, "");
    assert_eq!(reply(&sandbox, "workers"), json!([{"worker": "w"}]));
    let alive = reply(&sandbox, "keep-alive w --timeout 1h");
    assert_eq!(alive, json!({"worker": "w"}));
    start_task(&sandbox);
    let stopped = reply(&sandbox, "stop-work mail --worker w");
    assert_eq!(
        stopped,
        json!({"worker": "w", "queue": "mail", "returned": 1})
    );
    reply(&sandbox, "start-work mail --worker w");
    start_task(&sandbox);
    let server = sandbox.store.server();
    server.command(&["DEL", "worqr:workerTimers:w"]).ok();
    let cleaned = json!({"workers": ["w"], "returned": 1, "undecided": []});
    assert_eq!(reply(&sandbox, "cleanup"), cleaned);
    let nobody = json!({"workers": [], "returned": 0, "undecided": []});
    assert_eq!(reply(&sandbox, "cleanup"), nobody);
}

#[test]
fn a_worker_with_stay_is_alive_until_stopped_and_leaves_nothing() {
    let sandbox = sandbox();
    reply(&sandbox, "enqueue mail a");
    let mut child = sandbox.start("interop worqr start-worker w --stay --timeout 1h --json");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"worker\":\"w\"}\n");
    reply(&sandbox, "start-work mail --worker w");
    start_task(&sandbox);
    let server = sandbox.store.server();
    let timer = "worqr:workerTimers:w";
    server.command(&["EXPIRE", timer, "600"]).ok();
    until("it sends a heartbeat", || {
        let left = server.command(&["TTL", timer]).integer();
        if left > 600 {
            Ok(())
        } else {
            Err(format!("{left} s are left"))
        }
    });
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(reply(&sandbox, "workers"), json!([]));
    assert_eq!(reply(&sandbox, "peek mail"), json!({"task": "a"}));
}

#[test]
fn events_are_printed_as_json_lines() {
    let sandbox = sandbox();
    let mut child = sandbox.start("interop worqr listen mail --json");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(next(), json!({"event": "listening"}));
    reply(&sandbox, "enqueue mail a b");
    start_worker(&sandbox, "");
    let id = start_task(&sandbox);
    reply(
        &sandbox,
        &format!("finish-task {id} --worker w --result false"),
    );
    reply(&sandbox, "cancel mail b");
    reply(&sandbox, "delete mail");
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

/// Starts a worker that runs a shell script.
fn runner(sandbox: &Sandbox, flags: &str, script: &str) -> Child {
    let line = format!("interop worqr run mail --json {flags} -- sh -c");
    let mut args: Vec<_> = line.split_whitespace().collect();
    args.push(script);
    sandbox.command(&args).spawn().unwrap()
}

fn ended(child: Child) -> Value {
    Ran::from(child.wait_with_output().unwrap()).ok().json()
}

/// Waits for a file that a script creates.
fn wait_for_file(sandbox: &Sandbox, name: &str) {
    until("the script creates the file", || {
        let exists = sandbox.path(name).exists();
        exists.then_some(()).ok_or_else(|| name.to_owned())
    });
}

#[test]
fn a_worker_finishes_its_tasks_with_their_results() {
    let sandbox = sandbox();
    let mut listener = sandbox.start("interop worqr listen mail --json");
    let mut lines = BufReader::new(listener.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    reply(&sandbox, "enqueue mail [1] a ok");
    let script = "test $(cat | tee -a seen) = ok || cat seen";
    let summary = ended(runner(&sandbox, "--burst", script));
    let expected = json!({"finished": 3, "cancelled": 0, "failed": 0, "lost": 0});
    assert_eq!(summary, expected);
    let mut results = Vec::new();
    while results.len() < 3 {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if line["event"] == "done" {
            results.push(line["result"].clone());
        }
    }
    assert_eq!(results, [json!([1]), json!("[1]a"), Value::Null]);
    listener.kill().unwrap();
    listener.wait().unwrap();
    assert_eq!(reply(&sandbox, "workers"), json!([]));
}

#[test]
fn a_worker_stops_and_finishes_a_task_that_is_cancelled() {
    for flags in ["", "--layout document"] {
        let sandbox = sandbox();
        let child = runner(&sandbox, flags, "touch started; sleep 600");
        reply(&sandbox, &format!("enqueue mail a {flags}"));
        wait_for_file(&sandbox, "started");
        // Another task is not cancelled.
        reply(&sandbox, &format!("cancel mail other {flags}"));
        reply(&sandbox, &format!("cancel mail a {flags}"));
        let queue = |line: &str| reply(&sandbox, &format!("{line} {flags}"));
        until("the task is finished", || match queue("processes") {
            Value::Array(processes) if processes.is_empty() => Ok(()),
            processes => Err(processes.to_string()),
        });
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let summary = ended(child);
        let expected = json!({"finished": 0, "cancelled": 1, "failed": 0, "lost": 0});
        assert_eq!(summary, expected, "{flags}");
        assert_eq!(queue("count mail")["count"], 0);
    }
}

#[test]
fn a_worker_that_is_stopped_or_fails_returns_its_task_to_the_front() {
    let sandbox = sandbox();
    reply(&sandbox, "enqueue mail a b");
    let script = "test -e failed || { touch failed; exit 1; }; touch again; sleep 600";
    let child = runner(&sandbox, "", script);
    wait_for_file(&sandbox, "again");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let summary = ended(child);
    assert_eq!(
        (&summary["failed"], &summary["lost"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(reply(&sandbox, "peek mail"), json!({"task": "a"}));
    assert_eq!(reply(&sandbox, "count mail")["count"], 2);
}
