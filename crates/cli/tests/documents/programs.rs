//! docs/programs.md: programs as workers.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::page::{steps, texts};
use crate::sandbox::Sandbox;
use crate::shell::Shell;

const PAGE: &str = include_str!("../../../../docs/programs.md");

#[test]
fn the_commands_of_the_page_on_programs_print_what_it_shows() {
    let mut shell = Shell::new(Sandbox::new());
    for step in steps(PAGE) {
        shell.play(&step);
    }
}

/// Runs a job that succeeds and one that causes an exception, and returns the second.
fn run_with_exception(shell: &Shell, worker: &str) -> Value {
    shell.sandbox.run("enqueue shout hello --id s1").ok();
    let words = ["enqueue", "shout", "", "--id", "s2", "--max-attempts", "1"];
    shell.sandbox.run_words(&words).ok();

    let line = format!("worker shout --burst --json {worker}");
    let summary = shell.sandbox.run(&line).ok().json();

    assert_eq!(
        (&summary["succeeded"], &summary["dead"]),
        (&1.into(), &1.into())
    );
    let job = shell.sandbox.run("job get shout s1 --json").ok().json();
    assert_eq!(job["result"], "HELLO");
    shell.sandbox.run("job get shout s2 --json").ok().json()
}

#[test]
fn an_exception_in_a_resident_worker_is_a_failed_attempt() {
    let [node] = texts(PAGE, "js").try_into().unwrap();
    let shown = steps(PAGE).into_iter();
    let python = shown.filter(|step| step.command == "cat worker.py");
    let [python] = python.collect::<Vec<_>>().try_into().ok().unwrap();
    for (name, program, text) in [
        ("worker.js", "node", &node),
        ("worker.py", "python3", &python.shown),
    ] {
        let shell = Shell::new(Sandbox::new());
        std::fs::write(shell.sandbox.path(name), text).unwrap();

        let job = run_with_exception(&shell, &format!("{program} {name}"));

        assert!(
            job["error"].as_str().unwrap().contains("nothing to shout"),
            "{job}"
        );
        assert_eq!(
            (&job["attempt"], &job["expiries"]),
            (&1.into(), &0.into()),
            "{job}"
        );
    }
}

#[test]
fn the_script_that_claims_by_hand_completes_or_fails_its_job() {
    let [script] = texts(PAGE, "sh").try_into().unwrap();
    for (work, ending) in [("true", "completed\n"), ("exit 3", "scheduled\n")] {
        let shell = Shell::new(Sandbox::new());
        let program = shell.sandbox.path("send-letter");
        std::fs::write(&program, format!("#!/bin/sh\n{work}\n")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();

        let printed = shell.run(&script);

        assert!(printed.starts_with("letter-2\n"), "{printed}");
        assert!(printed.contains("\"dear Ann\""), "{printed}");
        assert!(printed.ends_with(ending), "{printed}");
    }
}
