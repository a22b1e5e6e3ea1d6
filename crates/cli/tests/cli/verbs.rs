//! The commands for workers, as used by scripts.

use super::sandbox::{Sandbox, text};

#[test]
fn a_script_works_through_a_job() {
    let sandbox = Sandbox::new();
    let id = sandbox
        .run("enqueue mail hello --kind letter --priority 2")
        .ok()
        .text();
    let id = id.trim();

    let job = sandbox.claim("mail");
    assert_eq!((text(&job["id"]), text(&job["payload"])), (id, "hello"));
    let token = text(&job["token"]).to_owned();

    sandbox
        .run(&format!("progress mail {id} --token {token} 0.4 writing"))
        .ok();
    let shown = sandbox
        .run(&format!("job get mail {id} --json"))
        .ok()
        .json();
    assert_eq!(
        (&shown["state"], &shown["progress"]),
        (&"running".into(), &0.4.into())
    );

    sandbox
        .run(&format!("renew mail {id} --token {token} --lease 1m"))
        .ok();
    let completed = sandbox.run(&format!(
        "complete mail {id} --token {token} --result sent --json"
    ));
    assert_eq!(completed.ok().json()["outcome"], "completed");

    let shown = sandbox
        .run(&format!("job get mail {id} --json"))
        .ok()
        .json();
    assert_eq!(
        (text(&shown["state"]), text(&shown["result"])),
        ("succeeded", "sent")
    );
}

#[test]
fn a_repeated_complete_gets_the_same_reply() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();

    for _ in 0..2 {
        let ran = sandbox
            .run(&format!("complete q 1 --token {token} --json"))
            .ok();
        assert_eq!(ran.json()["outcome"], "completed");
    }
}

#[test]
fn nothing_to_claim_is_an_empty_list() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --delay 1h").ok();

    assert_eq!(sandbox.run("claim q --json").ok().text(), "[]\n");
    assert_eq!(sandbox.run("claim nowhere --json").ok().text(), "[]\n");
}

#[test]
fn a_claim_hands_out_by_priority_and_then_in_order() {
    let sandbox = Sandbox::new();
    for (id, priority) in [("a", 5), ("b", 0), ("c", 5), ("d", 9), ("e", 0)] {
        sandbox
            .run(&format!("enqueue q x --id {id} --priority {priority}"))
            .ok();
    }

    let claimed = sandbox.run("claim q --max 10 --json").ok().json();

    let ids: Vec<_> = claimed
        .as_array()
        .unwrap()
        .iter()
        .map(|job| text(&job["id"]))
        .collect();
    assert_eq!(ids, ["b", "e", "a", "c", "d"]);
}

#[test]
fn a_failed_job_comes_back_until_it_is_dead() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1 --max-attempts 2").ok();
    let fail = |token: &str, more: &str| {
        let line = format!("fail q 1 --token {token} --error broken {more} --json");
        sandbox.run(&line).ok().json()["outcome"].clone()
    };

    let token = text(&sandbox.claim("q")["token"]).to_owned();
    assert_eq!(fail(&token, "--delay 0s"), "scheduled");
    let job = sandbox.claim("q");
    assert_eq!(job["attempt"], 2);
    assert_eq!(fail(text(&job["token"]), ""), "dead");

    let job = sandbox.run("job get q 1 --json").ok().json();
    assert_eq!(
        (text(&job["state"]), text(&job["error"])),
        ("dead", "broken")
    );
    assert_eq!(job["reason"], "exhausted");
}

#[test]
fn a_permanent_failure_is_dead_at_once() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();

    let ran = sandbox.run(&format!(
        "fail q 1 --token {token} --error no --permanent --json"
    ));

    assert_eq!(ran.ok().json()["outcome"], "dead");
}

#[test]
fn a_released_job_goes_first_and_a_snoozed_one_waits() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    sandbox.run("enqueue q x --id 2").ok();

    let token = text(&sandbox.claim("q")["token"]).to_owned();
    sandbox.run(&format!("release q 1 --token {token}")).ok();
    let job = sandbox.claim("q");
    assert_eq!((text(&job["id"]), &job["attempt"]), ("1", &1.into()));

    sandbox
        .run(&format!(
            "snooze q 1 --token {} --for 1h",
            text(&job["token"])
        ))
        .ok();
    assert_eq!(sandbox.claim("q")["id"], "2");
    assert_eq!(
        sandbox.run("job get q 1 --json").ok().json()["state"],
        "scheduled"
    );
}

#[test]
fn an_offered_job_is_leased_once_it_is_accepted() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let claimed = sandbox.run("claim q --dispatch --json").ok().json();
    let token = text(&claimed[0]["token"]);

    let ran = sandbox
        .run(&format!("accept q 1 --token {token} --lease 1m --json"))
        .ok();

    assert_eq!(ran.json()["outcome"], "accepted");
    sandbox.run(&format!("complete q 1 --token {token}")).ok();
}

#[test]
fn a_job_claimed_at_most_once_is_completed_by_the_claim() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    let claimed = sandbox.run("claim q --at-most-once --json").ok().json();

    assert_eq!(claimed[0]["payload"], "x");
    let stats = sandbox.run("queue stats q --json").ok().json();
    assert_eq!(
        (&stats["running"], &stats["total"]["succeeded"]),
        (&0.into(), &1.into())
    );
}

#[test]
fn the_same_id_is_the_same_job() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();

    let reply = sandbox.run("enqueue q y --id 1 --json").ok().json();

    assert_eq!(
        (text(&reply["id"]), &reply["duplicate"]),
        ("1", &true.into())
    );
    assert_eq!(sandbox.claim("q")["payload"], "x");
}

#[test]
fn a_duplicate_unique_key_returns_the_existing_job() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1 --unique-key k").ok();

    let reply = sandbox
        .run("enqueue q y --id 2 --unique-key k --json")
        .ok()
        .json();

    assert_eq!(
        (text(&reply["id"]), &reply["duplicate"]),
        ("1", &true.into())
    );
}

#[test]
fn a_paused_queue_hands_out_nothing_until_resumed() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();

    sandbox.run("queue pause q").ok();
    assert_eq!(sandbox.run("claim q --json").ok().text(), "[]\n");
    sandbox.run("queue resume q").ok();

    sandbox.claim("q");
}
