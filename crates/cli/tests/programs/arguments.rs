//! A job's values are single arguments; they never become code or options.

use super::running::{exists, state_and_reason};
use super::sandbox::{Ran, Sandbox, text};

fn exec(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let mut line = vec!["exec", "--queue", "q", "--burst", "--json", "--"];
    line.extend(words);
    sandbox.run_words(&line)
}

#[test]
fn a_payload_is_one_argument_and_never_code() {
    let sandbox = Sandbox::new();
    let evil = [
        "; touch pwned",
        "$(touch pwned)",
        "`touch pwned`",
        "a b  c",
        "a\nb",
        "| touch pwned",
        "'; touch pwned; '",
        "{id}",
    ];
    for (id, payload) in evil.iter().enumerate() {
        sandbox.job(&id.to_string(), payload, "");
    }

    exec(
        &sandbox,
        &["sh", "-c", r#"printf '%s|%s' "$#" "$1""#, "sh", "{payload}"],
    )
    .ok();

    for (id, payload) in evil.iter().enumerate() {
        let job = sandbox.shown(&id.to_string());
        assert_eq!(text(&job["result"]), format!("1|{payload}"));
    }
    assert!(!exists(&sandbox.path("pwned")));
}

#[test]
fn a_value_that_looks_like_an_option_is_rejected_unless_it_follows_a_double_dash() {
    let sandbox = Sandbox::new();
    sandbox.job("1", r#"{"file":"-rf"}"#, "");
    exec(&sandbox, &["echo", "{payload.file}"]).ok();
    let job = sandbox.shown("1");
    assert_eq!(state_and_reason(&job), ("dead", "permanent"));
    assert!(text(&job["error"]).contains("put -- before it"), "{job}");

    sandbox.job("2", r#"{"file":"-rf"}"#, "");
    exec(&sandbox, &["printf", "--", "%s", "{payload.file}"]).ok();
    assert_eq!(sandbox.shown("2")["result"], "-rf");
}

#[test]
fn a_missing_or_invalid_value_fails_its_job_and_no_other() {
    let sandbox = Sandbox::new();
    sandbox.job("missing", r#"{"a":1}"#, "");
    sandbox.feed("enqueue q - --id nul", b"a\0b").ok();
    sandbox.job("fine", r#"{"b":"yes"}"#, "");

    exec(
        &sandbox,
        &["printf", "%s%s", "{payload.b}", "{payload.c:-!}"],
    )
    .ok();

    for id in ["missing", "nul"] {
        assert_eq!(
            state_and_reason(&sandbox.shown(id)),
            ("dead", "permanent"),
            "{id}"
        );
    }
    assert_eq!(sandbox.shown("fine")["result"], "yes!");

    sandbox.feed("enqueue q - --id nul2", b"a\0b").ok();
    exec(&sandbox, &["echo", "{payload}"]).ok();
    let job = sandbox.shown("nul2");
    assert!(text(&job["error"]).contains("NUL"), "{job}");
}

#[test]
fn a_huge_value_fails_its_job_and_no_other() {
    let sandbox = Sandbox::new();
    sandbox.large_job("huge", "");
    sandbox.job("fine", "x", "");

    exec(&sandbox, &["echo", "{payload}"]).ok();

    assert_eq!(
        state_and_reason(&sandbox.shown("huge")),
        ("dead", "permanent")
    );
    assert_eq!(sandbox.shown("fine")["result"], "x\n");
}

#[test]
fn a_shell_gets_values_from_its_environment_and_input_only() {
    let sandbox = Sandbox::new();
    sandbox.job("$(touch pwned)", "; touch pwned", "--kind k");

    let line = [
        "exec",
        "--queue",
        "q",
        "--burst",
        "--shell",
        "--",
        r#"echo "$WINDLASS_JOB_ID" | cat - /dev/stdin; cat"#,
    ];
    sandbox.run_words(&line).ok();

    let job = sandbox
        .run_words(&["job", "get", "q", "$(touch pwned)", "--json"])
        .ok()
        .json();
    assert_eq!(job["state"], "succeeded", "{job}");
    assert!(!exists(&sandbox.path("pwned")));
}
