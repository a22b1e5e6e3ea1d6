//! Notes on stderr next to the result, which `--json` suppresses.

use super::sandbox::Sandbox;

/// Asserts that a command line succeeds, prints `result`, and prints `note` on stderr.
fn assert_noted(sandbox: &Sandbox, line: &str, result: &str, note: &str) {
    let ran = sandbox.run(line).ok();
    assert_eq!(ran.text(), result, "{line}");
    assert!(ran.stderr.contains(note), "{line}: {}", ran.stderr);
}

#[test]
fn a_claim_of_nothing_says_why() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue paused x").ok();
    sandbox.run("queue pause paused").ok();
    sandbox.run("enqueue drained x").ok();
    sandbox.claim("drained");

    for (queue, why) in [
        ("paused", "queue paused is paused"),
        ("unknown", "queue unknown does not exist yet"),
        ("drained", "no job available"),
    ] {
        assert_noted(&sandbox, &format!("claim {queue}"), "", why);
        let ran = sandbox.run(&format!("claim {queue} --json")).ok();
        assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("[]\n", ""));
    }
    assert!(!sandbox.run("queue list").ok().text().contains("unknown"));
}

#[test]
fn a_queue_that_a_command_creates_is_noted() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue other x").ok();
    let created = |queue: &str| format!("queue {queue} did not exist and was created");

    assert_noted(&sandbox, "queue pause a", "paused\n", &created("a"));
    assert_noted(&sandbox, "queue resume b", "resumed\n", &created("b"));
    let ran = sandbox.run("queue set c dead_age=1h").ok();
    assert!(ran.stderr.contains(&created("c")), "{}", ran.stderr);

    for line in [
        "queue pause a",
        "queue resume b",
        "queue set c dead_age=2h",
        "queue set c",
        "queue pause d --json",
    ] {
        assert_eq!(sandbox.run(line).ok().stderr, "", "{line}");
    }
}

#[test]
fn a_queue_name_that_looks_like_a_typing_error_is_noted() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue letters x").ok();
    let hint = |name: &str| format!("new queue {name}; did you mean letters?");

    for (line, name) in [
        ("claim leters", "leters"),
        ("job cancel leters --all --dry-run", "leters"),
        ("exec --queue leters --burst -- true", "leters"),
        ("queue pause lettres", "lettres"),
        ("queue set lettters dead_age=1h", "lettters"),
    ] {
        let ran = sandbox.run(line).ok();
        assert!(ran.stderr.contains(&hint(name)), "{line}: {}", ran.stderr);
    }
    let ran = sandbox.run("queue pause lttters --json").ok();
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_claim_of_more_than_the_limit_is_rejected() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();

    let error = sandbox.run("claim q --max 101 --json").exits(2).error();

    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("the limit is 100")
    );
    let claimed = sandbox.run("claim q --max 100 --json").ok().json();
    assert_eq!(claimed.as_array().unwrap().len(), 1);
}
