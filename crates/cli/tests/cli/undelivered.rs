//! Results that cannot be delivered: a closed pipe, a full disk.

use super::sandbox::{Ran, Sandbox, text};

/// Returns the numbers of ready and of running jobs.
fn counts(sandbox: &Sandbox) -> (u64, u64) {
    let stats = sandbox.run("queue stats q --json").ok().json();
    let count = |name: &str| stats[name].as_u64().unwrap();
    (count("ready"), count("running"))
}

fn run_on_full_disk(sandbox: &Sandbox, line: &str) -> Ran {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    Ran::from(sandbox.command(&words).stdout(full).output().unwrap())
}

#[test]
fn a_claim_on_a_closed_pipe_returns_its_jobs_in_their_order() {
    for line in [
        "claim q --max 2 --lease 1h --json",
        "claim q --max 2 --lease 1h",
        "claim q --dispatch --lease 1h --json",
    ] {
        let sandbox = Sandbox::new();
        for id in ["1", "2", "3"] {
            sandbox.run(&format!("enqueue q x --id {id}")).ok();
        }

        let ran = sandbox.run_with_closed_stdout(line).exits(1);

        assert!(
            ran.stderr.contains("they were returned to queue q"),
            "{line}: {}",
            ran.stderr
        );
        assert_eq!(counts(&sandbox), (3, 0), "{line}");
        let job = sandbox.claim("q");
        assert_eq!((text(&job["id"]), &job["expiries"]), ("1", &0.into()));
    }
}

#[test]
fn a_claim_that_cannot_be_written_returns_its_jobs() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    let ran = run_on_full_disk(&sandbox, "claim q --json").exits(1);

    assert_eq!(ran.error()["code"], "unwritable");
    assert_eq!(counts(&sandbox), (1, 0));
}

#[test]
fn a_claim_at_most_once_on_a_closed_pipe_says_which_jobs_are_lost() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id once-1").ok();

    let ran = sandbox
        .run_with_closed_stdout("claim q --at-most-once --json")
        .exits(1);

    let error = ran.error();
    assert_eq!(error["code"], "unwritable");
    let message = text(&error["message"]);
    assert!(
        message.contains("lost") && message.contains("once-1"),
        "{message}"
    );
    assert_eq!(counts(&sandbox), (0, 0));
}

#[test]
fn any_other_command_succeeds_on_a_closed_pipe() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    for line in [
        "queue list",
        "job list q --json",
        "enqueue q x --id 2",
        "claim empty --json",
    ] {
        let ran = sandbox.run_with_closed_stdout(line).ok();
        assert_eq!(ran.stderr, "", "{line}");
    }
    assert_eq!(counts(&sandbox), (2, 0));
}
