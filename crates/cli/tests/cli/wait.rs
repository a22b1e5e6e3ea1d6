//! Waiting for jobs and for outcomes across processes.

use super::sandbox::{Ran, Sandbox, text};

#[test]
fn a_waiting_claim_gets_a_job_that_comes_later() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause other").ok();
    let waiting = sandbox.start("claim q --wait 2m --json");

    sandbox.run("enqueue q late").ok();

    let claimed = Ran::from(waiting.wait_with_output().unwrap()).ok().json();
    assert_eq!(claimed[0]["payload"], "late");
}

#[test]
fn a_claim_that_waits_in_vain_returns_an_empty_list() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause other").ok();

    assert_eq!(
        sandbox.run("claim q --wait 50ms --json").ok().text(),
        "[]\n"
    );
}

#[test]
fn an_enqueue_that_waits_returns_the_outcome() {
    for (wait, outcome, code, state) in [
        ("--wait=10m", "complete q 1 --token", 0, "succeeded"),
        (
            "--wait",
            "fail q 1 --error no --permanent --token",
            1,
            "dead",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.run("queue pause other").ok();
        let waiting = sandbox.start(&format!("enqueue q x --id 1 {wait} --json"));

        let claimed = sandbox.run("claim q --wait 2m --json").ok().json();
        sandbox
            .run(&format!("{outcome} {}", text(&claimed[0]["token"])))
            .ok();

        let job = Ran::from(waiting.wait_with_output().unwrap())
            .exits(code)
            .json();
        assert_eq!((text(&job["id"]), text(&job["state"])), ("1", state));
        assert_eq!(job["duplicate"], false);
    }
}

#[test]
fn job_wait_returns_a_job_that_has_ended() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();
    sandbox
        .run(&format!("complete q 1 --token {token} --result done"))
        .ok();

    assert_eq!(
        sandbox.run("job wait q 1 --json").ok().json()["result"],
        "done"
    );
}

#[test]
fn a_wait_that_exceeds_its_limit_is_a_timeout() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1 --delay 1h").ok();

    for line in [
        "job wait q 1 --timeout 50ms --json",
        "enqueue q x --id 1 --wait=50ms --json",
    ] {
        let ran = sandbox.run(line).exits(124);
        assert_eq!(ran.error()["code"], "timed_out", "{line}");
    }
}
