//! Results that reach nobody: a closed pipe, a disk without room.

use super::sandbox::{Ran, Sandbox, text};

/// How many jobs are ready and how many run.
fn counts(sandbox: &Sandbox) -> (u64, u64) {
    let stats = sandbox.run("queue stats q --json").ok().json();
    let count = |name: &str| stats[name].as_u64().unwrap();
    (count("ready"), count("running"))
}

fn on_a_full_disk(sandbox: &Sandbox, line: &str) -> Ran {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    Ran::from(sandbox.command(&words).stdout(full).output().unwrap())
}

#[test]
fn a_claim_that_nobody_hears_gives_its_jobs_back_in_their_order() {
    for line in [
        "claim q --max 2 --lease 1h --json",
        "claim q --max 2 --lease 1h",
        "claim q --dispatch --lease 1h --json",
    ] {
        let sandbox = Sandbox::new();
        for id in ["1", "2", "3"] {
            sandbox.run(&format!("enqueue q x --id {id}")).ok();
        }

        let ran = sandbox.run_unheard(line).exits(1);

        assert!(ran.stderr.contains("went back"), "{line}: {}", ran.stderr);
        assert_eq!(counts(&sandbox), (3, 0), "{line}");
        let job = sandbox.claim("q");
        assert_eq!((text(&job["id"]), &job["expiries"]), ("1", &0.into()));
    }
}

#[test]
fn a_claim_that_cannot_be_written_gives_its_jobs_back() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    let ran = on_a_full_disk(&sandbox, "claim q --json").exits(1);

    assert_eq!(ran.error()["code"], "unwritable");
    assert_eq!(counts(&sandbox), (1, 0));
}

#[test]
fn a_claim_at_most_once_that_nobody_hears_says_which_jobs_are_lost() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id once-1").ok();

    let ran = sandbox
        .run_unheard("claim q --at-most-once --json")
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
fn a_reader_of_anything_else_may_go_away() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    for line in [
        "queue list",
        "job list q --json",
        "enqueue q x --id 2",
        "claim empty --json",
    ] {
        let ran = sandbox.run_unheard(line).ok();
        assert_eq!(ran.stderr, "", "{line}");
    }
    assert_eq!(counts(&sandbox), (2, 0));
}
