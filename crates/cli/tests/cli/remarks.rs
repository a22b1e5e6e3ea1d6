//! What people are told beside the result: on standard error, and not where JSON was asked for.

use super::sandbox::Sandbox;

/// Asserts that a line succeeds, prints this, and remarks on it in these words; with --json it
/// prints only its result.
fn assert_remarked(sandbox: &Sandbox, line: &str, result: &str, remark: &str) {
    let ran = sandbox.run(line).ok();
    assert_eq!(ran.text(), result, "{line}");
    assert!(ran.stderr.contains(remark), "{line}: {}", ran.stderr);
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
        ("unknown", "there is no queue unknown yet"),
        ("drained", "nothing to claim"),
    ] {
        assert_remarked(&sandbox, &format!("claim {queue}"), "", why);
        let ran = sandbox.run(&format!("claim {queue} --json")).ok();
        assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("[]\n", ""));
    }
    assert!(!sandbox.run("queue list").ok().text().contains("unknown"));
}

#[test]
fn a_queue_that_is_made_by_the_way_is_told() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue other x").ok();
    let made = |queue: &str| format!("there was no queue {queue}: it is made now");

    assert_remarked(&sandbox, "queue pause a", "paused\n", &made("a"));
    assert_remarked(&sandbox, "queue resume b", "resumed\n", &made("b"));
    let ran = sandbox.run("queue set c dead_age=1h").ok();
    assert!(ran.stderr.contains(&made("c")), "{}", ran.stderr);

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
fn a_claim_of_more_than_there_may_be_is_refused_in_words() {
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
