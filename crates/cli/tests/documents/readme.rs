//! README.md: the quick start, and a command as a worker.

use rustix::process::Signal;
use windlass_testkit::redis::until;

use crate::page::texts;
use crate::sandbox::Sandbox;
use crate::shell::{Running, Shell};

const PAGE: &str = include_str!("../../../../README.md");

/// Building is over when a test runs, and the program is found.
const BUILD: &str = "cargo build --release && export PATH=\"$PWD/target/release:$PATH\"\n";
const FIND: &str = "export PATH=\"$PWD/target/release:$PATH\"\n";

/// The demo, the two parts of the quick start, and the worker.
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
    let [_, first, second, _] = parts();

    let put_in = shell.run(first.strip_prefix(BUILD).unwrap());
    let worked_off = shell.run(second.strip_prefix(FIND).unwrap());

    assert!(put_in.starts_with("letter-1\n"), "{put_in}");
    assert!(worked_off.contains("\"dear Ann\""), "{worked_off}");
    assert!(worked_off.ends_with("completed\n"), "{worked_off}");
    let again = shell.run("windlass enqueue mail again --id letter-1 --json");
    assert!(again.contains("\"duplicate\":true"), "{again}");
    let remove = "rm -r windlass.db*";
    assert!(PAGE.contains(&format!("`{remove}`")));
    shell.run(remove);
    assert!(is_empty(&shell), "something is left");
}

#[test]
fn a_command_is_a_worker_until_it_is_told_to_stop() {
    let shell = Shell::new(Sandbox::new());
    let [_, _, _, line] = parts();
    shell.run("printf '#!/bin/sh\\ncat > sent\\n' > send-letter; chmod +x send-letter");
    shell.sandbox.run("enqueue mail hello").ok();

    let worker = Running::start(shell.command(&format!("exec {line}")));
    until("the letter is sent", || {
        match std::fs::read_to_string(shell.sandbox.path("sent")) {
            Ok(text) if text == "hello" => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });

    assert!(worker.end(Signal::TERM).success());
}

#[test]
fn the_demo_that_the_first_lines_name_is_a_command() {
    let [begin, ..] = parts();
    assert!(begin.starts_with("cargo run --release -- demo "), "{begin}");
    Sandbox::new().run("demo --help").ok();
}
