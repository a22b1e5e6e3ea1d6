//! Exit codes of rejected commands, the same for every store.

use super::sandbox::Sandbox;

#[test]
fn what_does_not_exist_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();
    for line in [
        "job get q nobody",
        "job get nowhere nobody",
        "job cancel q nobody",
        "job wait q nobody",
        "job cancel q --unique-key nothing",
        "job cancel q --payload nothing",
        "queue stats nowhere",
        "queue purge nowhere",
        "workers fail nobody",
        "maintain nowhere",
        "audit nowhere",
        "clean nowhere",
    ] {
        sandbox.run(line).exits(3);
    }
}

#[test]
fn an_unknown_token_is_a_conflict_or_gone() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    for line in [
        "complete q 1 --token 1-00000001",
        "fail q 1 --token 1-00000001 --error x",
        "release q 1 --token 1-00000001",
        "snooze q 1 --token 1-00000001 --for 1s",
        "accept q 1 --token 1-00000001",
        "progress q 1 --token 1-00000001 0.5",
        "renew q 1 --token 1-00000001",
        "renew q --token 1-00000001",
    ] {
        let ran = sandbox.run(&format!("{line} --json")).exits(4);
        assert_eq!(ran.error()["code"], "lease_lost", "{line}");
    }
    let ran = sandbox
        .run("complete q nobody --token 1-00000001 --json")
        .exits(3);
    assert_eq!(ran.error()["code"], "gone");
}
