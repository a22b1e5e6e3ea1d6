//! The environment of a program: a short list of variables, and the job.

#[cfg(target_os = "linux")]
use std::process::Command;

#[cfg(target_os = "linux")]
use super::running::tail;
use super::sandbox::{Ran, Sandbox, text};

fn seen(flags: &[&str]) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--kind letter --timeout 1m --max-attempts 7");
    let mut words = vec!["exec", "--queue", "q", "--burst"];
    words.extend(flags);
    words.extend(["--", "env"]);
    let mut command = sandbox.command(&words);
    command
        .env("SECRET", "hunter2")
        .env("LC_TEST", "passed")
        .env("WINDLASS_STORE", "sqlite:windlass.db")
        .env("LD_DEBUG_OUTPUT", "x");
    Ran::from(command.output().unwrap()).ok();
    let result = text(&sandbox.shown("1")["result"]).to_owned();
    (sandbox, result)
}

#[test]
fn a_secret_of_the_worker_is_not_seen_by_its_programs() {
    let (_sandbox, seen) = seen(&[]);
    for absent in ["hunter2", "SECRET", "WINDLASS_STORE", "LD_DEBUG"] {
        assert!(!seen.contains(absent), "{seen}");
    }
    for present in ["PATH=", "LC_TEST=passed"] {
        assert!(seen.contains(present), "{seen}");
    }
}

#[test]
fn requested_variables_are_passed_on() {
    let (_sandbox, seen) = seen(&[
        "--env",
        "SECRET",
        "--env",
        "COLOUR=red green",
        "--env",
        "ABSENT",
    ]);
    assert!(
        seen.contains("SECRET=hunter2\n") && seen.contains("COLOUR=red green\n"),
        "{seen}"
    );
    assert!(!seen.contains("ABSENT"), "{seen}");
}

#[test]
fn the_job_is_in_the_environment() {
    let (_sandbox, seen) = seen(&[]);
    for line in [
        "WINDLASS_JOB_ID=1",
        "WINDLASS_QUEUE=q",
        "WINDLASS_KIND=letter",
        "WINDLASS_ATTEMPT=1",
        "WINDLASS_MAX_ATTEMPTS=7",
        "WINDLASS_FD=3",
        "WINDLASS_TOKEN=",
        "WINDLASS_DEADLINE=20",
    ] {
        assert!(
            seen.lines().any(|seen| seen.starts_with(line)),
            "{line}: {seen}"
        );
    }
}

#[test]
fn the_job_can_be_read_as_json() {
    let sandbox = Sandbox::new();
    let line = r#"{"id":"1","payload":{"a":[1,2]},"headers":{"traceparent":"00-1-2-01"}}"#;
    sandbox
        .feed("enqueue q --ndjson -", format!("{line}\n").as_bytes())
        .ok();

    sandbox
        .exec("--stdin job", "cat; printf '%s' \"$TRACEPARENT\"")
        .ok();

    let result = sandbox.shown("1")["result"].clone();
    let (job, trace) = text(&result).split_once('\n').unwrap();
    let job: serde_json::Value = serde_json::from_str(job).unwrap();
    assert_eq!(
        (&job["payload"]["a"][1], &job["attempt"]),
        (&2.into(), &1.into())
    );
    assert_eq!(trace, "00-1-2-01");
    let shown = sandbox.shown("1");
    for time in ["created_at", "due_at", "started_at"] {
        assert!(shown[time].is_string(), "{shown}");
        assert_eq!(job[time], shown[time], "{time}");
    }
}

/// Runs a worker that was started with open descriptors, and returns the result of its job.
#[cfg(target_os = "linux")]
fn with_open_descriptors(sandbox: &Sandbox, worker: &Command, script: &str) -> String {
    sandbox.job("1", "x", "");
    let mut command = Command::new("sh");
    let open = r#"exec 3</dev/null 5</dev/null 9</dev/null; exec "$@""#;
    command.args(["-c", open, "sh"]);
    command.arg(worker.get_program()).args(worker.get_args());
    command.args(["--burst"]).args(tail(script));
    for (name, value) in worker.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(worker.get_current_dir().unwrap());
    Ran::from(command.output().unwrap()).ok();
    text(&sandbox.shown("1")["result"]).to_owned()
}

#[cfg(target_os = "linux")]
const LIST: &str =
    "list() { for fd in 3 4 5 6 9; do [ -e /proc/$$/fd/$fd ] && printf '%s,' $fd; done; echo; }";

#[cfg(target_os = "linux")]
#[test]
fn a_program_inherits_only_the_descriptor_for_progress() {
    let sandbox = Sandbox::new();
    let script = format!("{LIST}; list");
    let open = with_open_descriptors(&sandbox, &sandbox.exec_command(""), &script);
    assert_eq!(open.trim(), "3,");
}

#[cfg(target_os = "linux")]
#[test]
fn a_resident_program_inherits_no_descriptor() {
    let sandbox = Sandbox::new();
    let script = format!(
        r#". ./lib.sh; {LIST}
        list > open; open=$(cat open); next_job; done_with "$id" "$token" "none:$open"; next_job"#
    );
    let open = with_open_descriptors(&sandbox, &sandbox.worker_command(""), &script);
    assert_eq!(open, "none:");
}
