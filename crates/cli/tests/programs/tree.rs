//! A process and all its descendants end together, however it ends.

use rustix::process::Signal;

use super::running::gone;
use super::sandbox::{Sandbox, text};
use super::test_store::TestStore;

/// Leaves a long-lived grandchild behind.
const ORPHAN: &str = "sleep 1000 >/dev/null 2>&1 & echo $! > orphan.new; mv orphan.new orphan;";

#[test]
fn processes_left_behind_are_gone_after_a_normal_exit() {
    for end in ["exit 0", "exit 1", "kill -9 $$"] {
        let sandbox = Sandbox::new();
        sandbox.job("1", "x", "--max-attempts 1");
        sandbox.exec("", &format!("{ORPHAN} {end}")).ok();
        gone(&sandbox.line_of("orphan"));
    }
}

#[test]
fn a_grandchild_that_keeps_stdout_open_does_not_block_the_job() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    sandbox
        .exec("", "sleep 1000 & echo $! > orphan; echo done")
        .ok();
    assert_eq!(sandbox.shown("1")["result"], "done\n");
    gone(&sandbox.line_of("orphan"));
}

#[test]
fn a_timeout_terminates_the_whole_process_tree() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1 --timeout 8s");
    sandbox.exec("", &format!("{ORPHAN} sleep 1000")).ok();
    gone(&sandbox.line_of("orphan"));
    let job = sandbox.shown("1");
    assert!(text(&job["error"]).contains("timed out after 8s"), "{job}");
}

#[test]
fn a_process_that_ignores_sigterm_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");
    let script = format!("trap '' TERM; {ORPHAN} while :; do sleep 1000; done");
    sandbox
        .exec("--timeout 8s --kill-after 300ms", &script)
        .ok();
    gone(&sandbox.line_of("orphan"));
    let job = sandbox.shown("1");
    assert!(text(&job["error"]).contains("signal 9 (SIGKILL)"), "{job}");
}

#[test]
fn a_grandchild_has_time_to_clean_up_although_its_parent_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");
    // The outer shell exits at the first signal; the inner one still cleans up.
    let inner = "trap 'sleep 0.2; echo yes > cleared; exit' TERM; echo ready > inner; while :; do sleep 0.05; done";
    let script = format!("sh -c \"{inner}\"; true");
    let worker = sandbox.start_exec("--kill-after 1m", &script);
    sandbox.line_of("inner");
    sandbox.run("job cancel q 1").ok();
    assert_eq!(sandbox.line_of("cleared"), "yes");
    sandbox.shown_in("1", "cancelled");
    worker.stopped().ok();
}

#[test]
fn a_cancelled_job_ends_with_its_process_tree() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let worker = sandbox.start_exec("", &format!("{ORPHAN} sleep 1000"));
    let orphan = sandbox.line_of("orphan");
    sandbox.run("job cancel q 1").ok();
    gone(&orphan);
    sandbox.shown_in("1", "cancelled");
    worker.stopped().ok();
}

#[test]
fn a_process_whose_lease_is_lost_is_killed_at_once() {
    // On Redis, because a worker stopped in the middle of a write would keep a SQLite file locked.
    let sandbox = Sandbox::on(TestStore::redis());
    sandbox.job("1", "x", "");
    let script = "trap '' TERM; echo $$ > pid; while :; do sleep 1000; done";
    let worker = sandbox.start_exec("--lease 10s --kill-after 1h --json", script);
    let pid = sandbox.line_of("pid");

    worker.signal(Signal::STOP);
    let claimed = sandbox
        .run("claim q --wait 2m --lease 1h --json")
        .ok()
        .json();
    assert_eq!(claimed[0]["id"], "1", "{claimed}");
    worker.signal(Signal::CONT);

    gone(&pid);
    assert_eq!(worker.stopped().ok().json()["lost"], 1);
    let token = text(&claimed[0]["token"]);
    sandbox.run(&format!("complete q 1 --token {token}")).ok();
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_does_not_outlive_a_worker_that_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let worker = sandbox.start_exec("", "echo $$ > pid; exec sleep 1000");
    let pid = sandbox.line_of("pid");
    worker.signal(Signal::KILL);
    gone(&pid);
}
