//! Output is bounded, and a program never blocks on a full pipe.

use std::fs;

use super::running::state_and_reason;
use super::sandbox::{Sandbox, text};

/// Far more than a worker needs, far less than the program writes.
const MEMORY_KB_MAX: u64 = 150_000;

#[test]
fn a_hundred_megabytes_on_both_outputs_are_read_and_not_kept() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let script = "head -c 104857600 /dev/zero >&2; yes $(printf %0100d) | head -c 104857600 >&2; head -c 104857600 /dev/zero";
    let worker = sandbox.start_exec("--json", script);

    let job = sandbox.shown_in("1", "dead");

    assert_eq!(state_and_reason(&job), ("dead", "permanent"));
    assert!(
        text(&job["error"]).contains("the program wrote 104857600 bytes, the limit is 1048576"),
        "{job}"
    );
    if let Ok(status) = fs::read_to_string(format!("/proc/{}/status", worker.pid())) {
        let peak = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap();
        let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(peak < MEMORY_KB_MAX, "the worker grew to {peak} kB");
    }
    worker.stopped().ok();
}

#[test]
fn a_result_comes_back_byte_for_byte_up_to_the_limit() {
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(1024 * 1024).collect();
    sandbox.feed("enqueue q - --id 1", &bytes).ok();

    sandbox.exec("", "cat").ok();

    let job = sandbox.shown("1");
    assert_eq!(job["result_base64"], job["payload_base64"]);
    assert!(text(&job["result_base64"]).len() > 1024 * 1024);
}

#[test]
fn a_program_that_does_not_read_its_input_may_succeed() {
    let sandbox = Sandbox::new();
    sandbox.large_job("1", "--max-attempts 1");

    sandbox.exec("", "exit 0").ok();

    let shown = sandbox.run("queue stats q --json").ok().json();
    assert_eq!(shown["total"]["succeeded"], 1, "{shown}");
}

#[test]
fn the_result_may_be_the_last_line_or_nothing() {
    let sandbox = Sandbox::new();
    sandbox.job("line", "x", "");
    sandbox
        .exec("--result last-line", "echo working; echo 42; echo")
        .ok();
    assert_eq!(sandbox.shown("line")["result"], "42");

    sandbox.job("none", "x", "--max-attempts 1");
    sandbox.exec("--result none", "echo working; exit 1").ok();
    let job = sandbox.shown("none");
    assert_eq!(job["result"], serde_json::Value::Null);
    assert!(text(&job["error"]).contains("working"), "{job}");
}

#[test]
fn the_log_lines_of_a_resident_process_are_bounded() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    // It writes them before it has a job.
    let script = r#". ./lib.sh
        yes noise | head -n 20000 >&2
        next_job; done_with "$id" "$token" right; next_job"#;

    let ran = sandbox.worker("", script).ok();

    assert_eq!(sandbox.shown("1")["result"], "right");
    let lines = ran.stderr.lines().count();
    // A thousand of the process, a thousand of the job that was running at the end of them, if any.
    assert!(lines < 2_200, "{lines} lines");
    assert!(ran.stderr.contains("lines omitted)"), "{lines} lines");
}
