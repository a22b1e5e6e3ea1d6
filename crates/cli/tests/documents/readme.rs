//! README.md: the quick start, and a command as a worker.

use rustix::process::Signal;
use windlass_testkit::redis::until;

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::{Running, Shell};

const PAGE: &str = include_str!("../../../../README.md");

/// The test binary is already built and in `PATH`, so this block is not run.
const BUILD: &str = "cargo build --release && export PATH=\"$PWD/target/release:$PATH\"\n";

/// The demo, the build, the quick start, and the worker that runs until it is stopped.
fn parts() -> [String; 4] {
    texts(PAGE, "sh").try_into().unwrap()
}

fn is_empty(shell: &Shell) -> bool {
    let left = std::fs::read_dir(shell.sandbox.path("")).unwrap();
    left.count() == 0
}

#[test]
fn the_quick_start_brings_a_job_to_its_end_and_leaves_nothing() {
    let shell = Shell::new(Sandbox::new());
    let [_, build, quick_start, _] = parts();
    assert_eq!(build, BUILD);

    let printed = shell.run(&quick_start);

    assert!(printed.starts_with("letter-1\n"), "{printed}");
    let lines: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for expected in [
        &["ready", "1"][..],
        &["1", "succeeded"],
        &["payload", "dear", "Ann"],
        &["result", "DEAR", "ANN"],
    ] {
        assert!(lines.iter().any(|line| line == expected), "{printed}");
    }
    let again = shell.run("windlass enqueue mail again --id letter-1 --json");
    assert!(again.contains("\"duplicate\":true"), "{again}");
    let remove = "rm -r windlass.db*";
    assert!(PAGE.contains(&format!("`{remove}`")));
    shell.run(remove);
    assert!(is_empty(&shell), "files are left");
}

#[test]
fn a_command_is_a_worker_until_it_is_stopped() {
    let shell = Shell::new(Sandbox::new());
    let [_, _, _, line] = parts();
    shell.sandbox.run("enqueue mail hello --id letter").ok();

    let worker = Running::start(shell.command(&format!("exec {line}")));
    until("the letter has a result", || {
        let job = shell.sandbox.run("job get mail letter --json").ok().json();
        if job["result"] == "HELLO" {
            Ok(())
        } else {
            Err(job.to_string())
        }
    });

    assert!(worker.end(Signal::TERM).success());
}

#[test]
fn the_demo_that_the_first_lines_name_is_a_command() {
    let [first, ..] = parts();
    assert!(first.starts_with("cargo run --release -- demo "), "{first}");
    Sandbox::new().run("demo --help").ok();
}
