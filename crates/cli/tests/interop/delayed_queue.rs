//! `windlass interop delayed-queue`: one command per operation, and the worker.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::redis::{Reply, until};

use super::sandbox::{Ran, Sandbox, has_fields, text};
use super::test_store::TestStore;

fn sandbox() -> Sandbox {
    Sandbox::on(TestStore::redis())
}

fn delayed(sandbox: &Sandbox, line: &str) -> Ran {
    sandbox.run(&format!("interop delayed-queue {line} --json"))
}

fn reply(sandbox: &Sandbox, line: &str) -> Value {
    delayed(sandbox, line).ok().json()
}

fn redis(sandbox: &Sandbox, line: &str) -> Reply {
    let args: Vec<&str> = line.split(' ').collect();
    sandbox.store.server().command(&args).ok()
}

/// Submits a due job with the original's commands and moves it as its leader does.
fn due(sandbox: &Sandbox, id: &str, payload: &str) {
    let key = format!("delayed-queue:job:{id}");
    redis(sandbox, &format!("HSET {key} payload {payload} dueTime 1"));
    redis(sandbox, &format!("LPUSH delayed-queue:dueJobs {id}"));
}

/// Starts a worker that runs a shell script.
fn worker(sandbox: &Sandbox, flags: &str, script: &str) -> Child {
    let line = format!("interop delayed-queue run --json {flags} -- sh -c");
    let mut args: Vec<_> = line.split_whitespace().collect();
    args.push(script);
    sandbox.command(&args).spawn().unwrap()
}

fn ended(child: Child) -> Value {
    Ran::from(child.wait_with_output().unwrap()).ok().json()
}

fn wait_for(sandbox: &Sandbox, what: &str, line: &str, count: i64) {
    until(what, || match redis(sandbox, line).integer() {
        now if now == count => Ok(()),
        now => Err(format!("{now}")),
    });
}

#[test]
fn a_job_goes_through_all_commands() {
    let sandbox = sandbox();
    let later = reply(&sandbox, "submit x --delay 1h");
    has_fields(&later, "id");
    let id = reply(&sandbox, "submit dear-Ann --at 1000");
    assert_eq!(reply(&sandbox, "due"), json!({"moved": 1}));
    let counts = json!({"delayed": 1, "due": 1, "unacked": 0});
    assert_eq!(reply(&sandbox, "counts"), counts);
    let job = reply(&sandbox, "take");
    has_fields(&job, "id payload due_time pickup_time ticket");
    assert_eq!(
        (&job["id"], &job["payload"]),
        (&id["id"], &json!("dear-Ann"))
    );
    assert_eq!(job["due_time"], 1000);
    let held = |job: &Value| {
        let (id, ticket) = (text(&job["id"]), text(&job["ticket"]));
        format!("{id} --ticket {ticket}")
    };
    let renewed = reply(&sandbox, &format!("renew {}", held(&job)));
    assert_eq!(renewed["status"], "renewed");
    reply(&sandbox, &format!("nack {} --front", held(&job)));
    let gone = delayed(&sandbox, &format!("ack {}", held(&job))).exits(4);
    assert_eq!(gone.error()["code"], "conflict");
    let job = reply(&sandbox, "take --wait 5s");
    reply(&sandbox, &format!("nack {} --delay 0s", held(&job)));
    assert_eq!(reply(&sandbox, "due"), json!({"moved": 1}));
    let job = reply(&sandbox, "take");
    let acked = reply(&sandbox, &format!("ack {}", held(&job)));
    assert_eq!(acked["status"], "acknowledged");
    assert_eq!(reply(&sandbox, "take"), Value::Null);
    let counts = json!({"delayed": 1, "due": 0, "unacked": 0});
    assert_eq!(reply(&sandbox, "counts"), counts);
}

#[test]
fn usage_errors_change_nothing() {
    let sandbox = sandbox();
    for line in [
        "submit x",
        "submit x --at 5 --delay 5s",
        "submit x --delay soon",
        "nack id --ticket t --front --delay 1s",
        "due --every 0s",
    ] {
        delayed(&sandbox, line).exits(2);
    }
    assert_eq!(redis(&sandbox, "DBSIZE").integer(), 0);
}

#[test]
fn the_monitor_returns_jobs_of_dead_workers() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    // An original worker that is killed between its first two commands.
    redis(
        &sandbox,
        "LMOVE delayed-queue:dueJobs delayed-queue:unackedJobs RIGHT LEFT",
    );
    let returned = json!({"returned": 1, "removed": 0, "unacked": 0});
    assert_eq!(reply(&sandbox, "monitor --unacked-for 10ms"), returned);
    assert_eq!(redis(&sandbox, "LLEN delayed-queue:dueJobs").integer(), 1);
}

#[test]
fn a_job_that_could_not_be_printed_is_returned() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    let line = "interop delayed-queue take --json";
    sandbox.run_with_closed_stdout(line).exits(1);
    assert_eq!(redis(&sandbox, "LLEN delayed-queue:dueJobs").integer(), 1);
    assert_eq!(
        redis(&sandbox, "LLEN delayed-queue:unackedJobs").integer(),
        0
    );
}

#[test]
fn a_worker_runs_due_jobs_of_both_and_acknowledges_them() {
    let sandbox = sandbox();
    due(&sandbox, "a", "theirs");
    reply(&sandbox, "submit ours --at 1000");
    let script = "{ cat; echo \" $WINDLASS_JOB_ID $WINDLASS_DUE_TIME\"; } >> seen";
    let summary = ended(worker(&sandbox, "--burst", script));
    assert_eq!(summary, json!({"acked": 2, "failed": 0, "lost": 0}));
    let seen = std::fs::read_to_string(sandbox.path("seen")).unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[0], "theirs a 1");
    assert!(
        lines[1].starts_with("ours ") && lines[1].ends_with(" 1000"),
        "{seen}"
    );
    assert_eq!(redis(&sandbox, "DBSIZE").integer(), 0);
}

#[test]
fn a_failed_job_is_due_again_later() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    let summary = ended(worker(&sandbox, "--burst --retry-after 1h", "exit 1"));
    assert_eq!(summary, json!({"acked": 0, "failed": 1, "lost": 0}));
    assert_eq!(reply(&sandbox, "counts")["delayed"], 1);
}

#[test]
fn a_job_that_exceeds_its_time_limit_is_stopped_and_due_again() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    let flags = "--burst --timeout 100ms --retry-after 1h";
    let summary = ended(worker(&sandbox, flags, "sleep 600"));
    assert_eq!(summary, json!({"acked": 0, "failed": 1, "lost": 0}));
    assert_eq!(reply(&sandbox, "counts")["delayed"], 1);
}

#[test]
fn a_worker_that_is_stopped_returns_its_job_to_the_front() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    due(&sandbox, "b", "x");
    let child = worker(&sandbox, "", "sleep 600");
    wait_for(&sandbox, "a job runs", "LLEN delayed-queue:unackedJobs", 1);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let summary = ended(child);
    assert_eq!(summary, json!({"acked": 0, "failed": 0, "lost": 1}));
    let front = redis(&sandbox, "LINDEX delayed-queue:dueJobs -1");
    assert_eq!(front.text(), "a");
}

#[test]
fn a_worker_takes_over_the_job_of_one_that_was_killed() {
    let sandbox = sandbox();
    due(&sandbox, "a", "x");
    let mut killed = worker(&sandbox, "", "sleep 600");
    wait_for(&sandbox, "a job runs", "LLEN delayed-queue:unackedJobs", 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let child = worker(&sandbox, "--unacked-for 500ms", "cat > seen");
    wait_for(&sandbox, "the job is done", "DBSIZE", 0);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(child)["acked"], 1);
}
