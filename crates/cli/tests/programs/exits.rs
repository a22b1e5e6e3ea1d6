//! The outcome of a job for each class of exit status.

use super::running::state_and_reason;
use super::sandbox::{Sandbox, text};

#[test]
fn each_class_of_exit_status_has_its_outcome() {
    let sandbox = Sandbox::new();
    let cases = [
        ("0", "succeeded", ""),
        ("1", "dead", "exhausted"),
        ("63", "dead", "exhausted"),
        ("64", "dead", "permanent"),
        ("74", "dead", "permanent"),
        ("75", "dead", "exhausted"),
        ("78", "dead", "permanent"),
        ("127", "dead", "exhausted"),
        ("255", "dead", "exhausted"),
    ];
    for (code, ..) in cases {
        sandbox.job(code, code, "--max-attempts 1");
    }

    let summary = sandbox
        .exec("-j 3", "code=$(cat); echo out; exit $code")
        .ok()
        .json();

    for (code, state, reason) in cases {
        let job = sandbox.shown(code);
        assert_eq!(state_and_reason(&job), (state, reason), "{job}");
        if code != "0" {
            assert!(
                text(&job["error"]).contains(&format!("exit status {code}")),
                "{job}"
            );
        }
    }
    assert_eq!(
        (&summary["succeeded"], &summary["dead"]),
        (&1.into(), &8.into())
    );
}

#[test]
fn a_failed_attempt_is_retried() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 2");

    let summary = sandbox
        .exec("", r#"[ "$WINDLASS_ATTEMPT" = 2 ] || exit 75"#)
        .ok()
        .json();

    assert_eq!(
        (&summary["failed"], &summary["succeeded"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn an_exit_status_can_be_mapped_to_another_outcome() {
    let sandbox = Sandbox::new();
    sandbox.job("3", "3", "");
    sandbox.job("64", "64", "");
    let flags = "--on-exit 3=permanent,64=done --on-exit 9=retry:1h";
    sandbox.exec(flags, "echo kept; exit $(cat)").ok();
    assert_eq!(state_and_reason(&sandbox.shown("3")), ("dead", "permanent"));
    assert_eq!(sandbox.shown("64")["state"], "succeeded");

    sandbox.job("9", "9", "");
    let worker = sandbox.start_exec(flags, "exit $(cat)");
    let job = sandbox.shown_in("9", "scheduled");
    assert_eq!(job["attempt"], 2);
    let at = |field: &str| windlass_api::timestamp::parse(text(&job[field])).unwrap();
    assert!(
        at("due_at").since(at("created_at")).as_secs() >= 3600,
        "{job}"
    );
    worker.stopped().ok();
}

#[test]
fn a_signal_is_named_and_the_last_lines_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");

    sandbox
        .exec("", "echo 'no such picture' >&2; kill -9 $$")
        .ok();

    let error = sandbox.shown("1")["error"].clone();
    assert!(text(&error).contains("signal 9 (SIGKILL)"), "{error}");
    assert!(text(&error).contains("no such picture"), "{error}");
}

#[test]
fn a_program_that_disappears_slows_the_worker_down() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3", "4", "5"] {
        sandbox.job(id, "x", "--max-attempts 1");
    }
    sandbox.program("once", "rm once");

    let ran = sandbox.run("exec --queue q --burst -- ./once").ok();

    assert!(ran.stderr.contains("next job in 1s"), "{}", ran.stderr);
    let error = sandbox.shown("2")["error"].clone();
    assert!(text(&error).contains("cannot start ./once"), "{error}");
}
