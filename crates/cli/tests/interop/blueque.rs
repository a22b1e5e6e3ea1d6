//! `windlass interop blueque`: one command per operation, and the runner.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use windlass_testkit::redis::until;

use super::sandbox::{Ran, Sandbox, has_fields, text};
use super::test_store::TestStore;

fn sandbox() -> Sandbox {
    Sandbox::on(TestStore::redis())
}

fn blueque(sandbox: &Sandbox, line: &str) -> Ran {
    sandbox.run(&format!("interop blueque {line}"))
}

fn enqueued(sandbox: &Sandbox, more: &str) -> String {
    let added = blueque(sandbox, &format!("enqueue video x --json {more}")).ok();
    text(&added.json()["id"]).to_owned()
}

fn shown(sandbox: &Sandbox, id: &str) -> Value {
    blueque(sandbox, &format!("get {id} --json")).ok().json()
}

/// Starts a runner of a shell script.
fn runner(sandbox: &Sandbox, flags: &str, script: &str) -> Child {
    let line = format!("interop blueque run video --json {flags} -- sh -c");
    let mut args: Vec<_> = line.split_whitespace().collect();
    args.push(script);
    sandbox.command(&args).spawn().unwrap()
}

fn ended(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the pid that a script writes to a file.
fn pid_in(sandbox: &Sandbox, name: &str) -> Pid {
    until("the script has started", || {
        let text = std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
        let number = text.strip_suffix('\n').and_then(|text| text.parse().ok());
        number.and_then(Pid::from_raw).ok_or(text)
    })
}

fn assert_gone(pid: Pid) {
    until("the process is gone", || match test_kill_process(pid) {
        Ok(()) => Err("it still runs".to_owned()),
        Err(_) => Ok(()),
    });
}

#[test]
fn a_task_goes_through_all_commands() {
    for layout in ["released", "document"] {
        let sandbox = sandbox();
        let flag = format!("--layout {layout}");
        let id = enqueued(&sandbox, &flag);
        let task = blueque(&sandbox, &format!("listen video --json {flag}"))
            .ok()
            .json();
        assert_eq!(task["id"], id.as_str());
        has_fields(
            &task,
            "id status queue parameters result error node pid created updated",
        );
        let node = text(&task["node"]).to_owned();
        let held = format!("video {id} --json {flag}");

        blueque(&sandbox, &format!("heartbeat video {node} {flag}")).ok();
        let started = blueque(&sandbox, &format!("start {held} --pid 7"))
            .ok()
            .json();
        assert_eq!(started["status"], "started");
        blueque(&sandbox, &format!("complete {held} --listener other_1")).exits(4);
        blueque(&sandbox, &format!("complete {held} --listener {node}")).ok();
        let again = blueque(&sandbox, &format!("complete {held} --result 1")).exits(4);
        assert_eq!(again.error()["code"], "conflict");
        blueque(&sandbox, &format!("delete {held}")).ok();
        blueque(&sandbox, &format!("get {id} --json {flag}")).exits(3);
        blueque(&sandbox, &format!("delete {held}")).exits(3);
    }
}

#[test]
fn an_empty_queue_gives_null_and_no_error() {
    let sandbox = sandbox();
    assert_eq!(
        blueque(&sandbox, "listen video --json").ok().json(),
        Value::Null
    );
    assert_eq!(
        blueque(&sandbox, "claim-orphan video --json").ok().json(),
        Value::Null
    );
    let listeners = blueque(&sandbox, "listeners video --json").ok().json();
    assert_eq!(listeners, serde_json::json!([]));
}

#[test]
fn a_task_that_could_not_be_printed_is_returned() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    sandbox
        .run_with_closed_stdout("interop blueque listen video --json")
        .exits(1);
    assert_eq!(shown(&sandbox, &id)["status"], "pending");
}

#[test]
fn a_failed_task_has_its_error() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    blueque(&sandbox, "listen video").ok();
    blueque(&sandbox, &format!("fail video {id} --error broken")).ok();
    let task = shown(&sandbox, &id);
    assert_eq!(
        (&task["status"], &task["error"]),
        (&"failed".into(), &"broken".into())
    );
}

#[test]
fn a_scheduled_task_moves_when_it_is_due() {
    let sandbox = sandbox();
    let later = blueque(&sandbox, "schedule video x --delay 1h --json")
        .ok()
        .json();
    assert_eq!(later["status"], "scheduled");
    let past = blueque(&sandbox, "schedule video x --at 1000 --json")
        .ok()
        .json();
    assert_eq!(past["status"], "pending");
    assert_eq!(
        blueque(&sandbox, "due video --json").ok().json()["moved"],
        0
    );
    let id = text(&later["id"]);
    let server = sandbox.store.server();
    server
        .command(&["ZADD", "blueque_scheduled_tasks_video", "1", id])
        .ok();
    assert_eq!(
        blueque(&sandbox, "due video --json").ok().json()["moved"],
        1
    );
    let queues = blueque(&sandbox, "queues --json").ok().json();
    assert_eq!(
        (&queues[0]["queue"], &queues[0]["pending"]),
        (&"video".into(), &2.into())
    );
    blueque(&sandbox, "due video --every 0s").exits(2);
}

#[test]
fn an_orphan_is_claimed_and_lost_ones_are_cleaned() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    let first = blueque(&sandbox, "listen video --json").ok().json();
    let lost = format!("--lost {}", text(&first["node"]));
    let claimed = blueque(&sandbox, &format!("claim-orphan video --json {lost}"))
        .ok()
        .json();
    assert_eq!(claimed["id"], id.as_str());
    blueque(&sandbox, &format!("start video {id}")).ok();

    let lost = format!("--lost {}", text(&claimed["node"]));
    let cleaned = blueque(&sandbox, &format!("clean video --json {lost}"))
        .ok()
        .json();
    has_fields(&cleaned, "requeued failed stale listeners recounted");
    assert_eq!(
        (&cleaned["requeued"], &cleaned["failed"]),
        (&0.into(), &1.into())
    );
    assert_eq!(shown(&sandbox, &id)["error"], "worker_lost");
}

#[test]
fn a_file_store_is_rejected() {
    let sandbox = Sandbox::new();
    blueque(&sandbox, "queues --json").exits(2).error();
}

#[test]
fn the_runner_passes_parameters_on_stdin_and_stores_stdout() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    let script = "read -r line; printf '%s %s' \"$line\" \"$WINDLASS_TASK_ID$WINDLASS_STORE\"";
    let summary = ended(runner(&sandbox, "--burst", script)).ok().json();
    assert_eq!(
        (&summary["complete"], &summary["failed"]),
        (&1.into(), &0.into())
    );
    let task = shown(&sandbox, &id);
    assert_eq!(task["status"], "complete");
    assert_eq!(task["result"], format!("x {id}"));
    let listeners = blueque(&sandbox, "listeners video --json").ok().json();
    assert_eq!(listeners, serde_json::json!([]));
}

#[test]
fn a_program_that_fails_or_is_killed_fails_its_task_with_its_last_lines() {
    let sandbox = sandbox();
    let failing = enqueued(&sandbox, "");
    let dying = enqueued(&sandbox, "");
    let script = "echo why >&2; test -e once && kill -9 $$; touch once; exit 3";
    let summary = ended(runner(&sandbox, "--burst", script)).ok().json();
    assert_eq!(summary["failed"], 2, "{summary}");
    let error = text(&shown(&sandbox, &failing)["error"]).to_owned();
    assert!(
        error.contains("status 3") && error.contains("why"),
        "{error}"
    );
    let error = text(&shown(&sandbox, &dying)["error"]).to_owned();
    assert!(error.contains("signal 9"), "{error}");
}

#[test]
fn without_its_program_no_task_is_started() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    let line = "interop blueque run video --burst --json -- ./no-such-program";
    let error = sandbox.run(line).exits(78).error();
    assert!(
        text(&error["message"]).contains("./no-such-program"),
        "{error}"
    );
    assert_eq!(shown(&sandbox, &id)["status"], "pending");
}

#[test]
fn a_stop_kills_all_that_the_program_started_and_returns_or_fails_the_task() {
    for (flags, status) in [("", "failed"), ("--retry-lost", "pending")] {
        let sandbox = sandbox();
        let id = enqueued(&sandbox, "");
        let script = "sleep 1000 & echo $! > inner; wait";
        let child = runner(&sandbox, flags, script);
        let inner = pid_in(&sandbox, "inner");

        signal(&child, Signal::TERM);

        let summary = ended(child).ok().json();
        assert_eq!(summary["lost"], 1, "{summary}");
        assert_gone(inner);
        assert_eq!(shown(&sandbox, &id)["status"], status);
    }
}

#[test]
fn a_task_may_finish_within_the_grace_period_of_a_stop() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    let script = "echo $$ > begun; while ! test -e gate; do sleep 0.05; done; echo made it";
    let child = runner(&sandbox, "--grace 2m", script);
    pid_in(&sandbox, "begun");
    signal(&child, Signal::TERM);
    std::fs::write(sandbox.path("gate"), "").unwrap();
    let summary = ended(child).ok().json();
    assert_eq!(summary["complete"], 1, "{summary}");
    assert_eq!(shown(&sandbox, &id)["result"], "made it\n");
}

#[test]
fn a_killed_runner_ends_its_program_and_its_task_is_recovered() {
    let sandbox = sandbox();
    let id = enqueued(&sandbox, "");
    let mut child = runner(&sandbox, "--alive 10s", "echo $$ > begun; exec sleep 1000");
    let program = pid_in(&sandbox, "begun");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_gone(program);

    until("its lifetime is over", || {
        let cleaned = blueque(&sandbox, "clean video --retry-lost --json")
            .ok()
            .json();
        if cleaned["requeued"] == 1 {
            Ok(())
        } else {
            Err(cleaned.to_string())
        }
    });
    assert_eq!(shown(&sandbox, &id)["status"], "pending");
    let summary = ended(runner(&sandbox, "--burst", "echo again")).ok().json();
    assert_eq!(summary["complete"], 1);
}

#[test]
fn a_runner_that_was_declared_lost_ends_its_program_and_continues() {
    let sandbox = sandbox();
    let first = enqueued(&sandbox, "");
    let script = "if test -e begun; then echo second; else echo $$ > begun; exec sleep 1000; fi";
    let child = runner(&sandbox, "--alive 10s", script);
    let program = pid_in(&sandbox, "begun");
    let node = until("the task is started", || {
        let task = shown(&sandbox, &first);
        task["node"]
            .as_str()
            .map(str::to_owned)
            .ok_or(task.to_string())
    });
    blueque(&sandbox, &format!("clean video --lost {node}")).ok();

    assert_gone(program);
    let second = enqueued(&sandbox, "");
    until("the next task is run", || match shown(&sandbox, &second) {
        task if task["status"] == "complete" => Ok(()),
        task => Err(task.to_string()),
    });
    assert_eq!(shown(&sandbox, &first)["error"], "worker_lost");
    signal(&child, Signal::TERM);
    ended(child).ok();
}
