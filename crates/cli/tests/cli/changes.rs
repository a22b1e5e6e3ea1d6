//! Operator commands: cancel, retry, delete, promote, list and purge.

use super::sandbox::{Sandbox, text};

fn dead_job(sandbox: &Sandbox, id: &str) {
    sandbox.run(&format!("enqueue q x --id {id}")).ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();
    sandbox
        .run(&format!(
            "fail q {id} --token {token} --error no --permanent"
        ))
        .ok();
}

#[test]
fn a_waiting_job_is_cancelled_and_a_running_one_asked_to_stop() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    sandbox.run("enqueue q x --id 2").ok();
    let token = text(&sandbox.claim("q")["token"]).to_owned();

    let outcome = |id| {
        sandbox
            .run(&format!("job cancel q {id} --json"))
            .ok()
            .json()
    };
    assert_eq!(outcome(1)["outcome"], "will_stop");
    assert_eq!(outcome(2)["outcome"], "cancelled");

    let renewed = sandbox
        .run(&format!("renew q 1 --token {token} --json"))
        .ok()
        .json();
    assert_eq!(renewed["cancel"][0], "1");
    let failed = sandbox.run(&format!("fail q 1 --token {token} --error stopped --json"));
    assert_eq!(failed.ok().json()["outcome"], "cancelled");
}

#[test]
fn every_job_with_the_same_payload_is_cancelled() {
    let sandbox = Sandbox::new();
    for payload in ["x", "y", "x", "x"] {
        sandbox.run(&format!("enqueue q {payload}")).ok();
    }

    let counts = sandbox.run("job cancel q --payload x --json").ok().json();

    assert_eq!(counts["done"], 3);
    assert_eq!(sandbox.run("queue stats q --json").ok().json()["ready"], 1);
}

#[test]
fn a_payload_that_no_job_has_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x").ok();

    let ran = sandbox.run("job cancel q --payload y --json").exits(3);

    assert_eq!(ran.error()["code"], "not_found");
    assert_eq!(ran.json()["done"], 0);
    let ran = sandbox.run("job cancel q --payload y").exits(3);
    assert_eq!(ran.text(), "0 cancelled\n");
    assert!(ran.stderr.contains("payload"), "{}", ran.stderr);
}

#[test]
fn a_unique_key_or_payload_is_accepted_only_where_it_can_match() {
    let sandbox = Sandbox::new();
    sandbox
        .run("enqueue q x --id 1 --delay 1h --unique-key k")
        .ok();

    sandbox.run("job retry q --unique-key k").exits(2);
    for verb in ["retry", "delete", "promote"] {
        sandbox.run(&format!("job {verb} q --payload x")).exits(2);
    }
    sandbox.run("job promote q --unique-key k").ok();

    assert_eq!(sandbox.claim("q")["id"], "1");
}

#[test]
fn the_holder_of_a_unique_key_is_cancelled() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1 --unique-key k").ok();

    let reply = sandbox
        .run("job cancel q --unique-key k --json")
        .ok()
        .json();

    assert_eq!(
        (text(&reply["id"]), text(&reply["outcome"])),
        ("1", "cancelled")
    );
}

#[test]
fn a_dead_job_is_retried_and_a_live_one_is_not() {
    let sandbox = Sandbox::new();
    dead_job(&sandbox, "1");

    assert_eq!(
        sandbox.run("job retry q 1 --json").ok().json()["outcome"],
        "retried"
    );
    let ran = sandbox.run("job retry q 1 --json").exits(4);

    assert_eq!(ran.error()["code"], "wrong_state");
    assert_eq!(sandbox.claim("q")["id"], "1");
}

#[test]
fn all_dead_jobs_are_retried_at_once() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3"] {
        dead_job(&sandbox, id);
    }

    assert_eq!(
        sandbox.run("job retry q --all --json").ok().json()["done"],
        3
    );

    assert_eq!(sandbox.run("queue stats q --json").ok().json()["ready"], 3);
}

#[test]
fn a_finished_job_is_deleted_and_a_live_one_is_not() {
    let sandbox = Sandbox::new();
    dead_job(&sandbox, "1");
    sandbox.run("enqueue q x --id 2").ok();

    sandbox.run("job delete q 1").ok();

    sandbox.run("job get q 1").exits(3);
    sandbox.run("job delete q 2").exits(4);
}

#[test]
fn a_scheduled_job_is_promoted() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1 --delay 1h").ok();

    assert_eq!(
        sandbox.run("job promote q 1 --json").ok().json()["outcome"],
        "promoted"
    );

    assert_eq!(sandbox.claim("q")["id"], "1");
}

#[test]
fn one_error_among_several_jobs_is_reported_and_the_others_are_changed() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    sandbox.run("enqueue q x --id 2").ok();

    let ran = sandbox.run("job cancel q 1 nobody 2 --json").exits(3);

    assert_eq!(ran.error()["code"], "not_found");
    assert_eq!(ran.json()["done"], 2);
}

#[test]
fn a_listing_comes_in_pages() {
    let sandbox = Sandbox::new();
    let lines = (0..7)
        .map(|n| format!("{{\"id\":\"{n}\",\"kind\":\"k\"}}\n"))
        .collect::<Vec<_>>()
        .concat();
    sandbox.feed("enqueue q --ndjson -", lines.as_bytes()).ok();
    sandbox.run("enqueue q x --id other --delay 1h").ok();

    let mut seen = Vec::new();
    let mut words: Vec<String> = ["job", "list", "q", "--kind", "k", "--limit", "3", "--json"]
        .map(ToOwned::to_owned)
        .to_vec();
    loop {
        let ran = sandbox.run_words(&words).ok();
        let jobs = ran.json();
        seen.extend(
            jobs.as_array()
                .unwrap()
                .iter()
                .map(|job| text(&job["id"]).to_owned()),
        );
        if ran.stderr.is_empty() {
            break;
        }
        let next: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
        words.truncate(8);
        words.push(format!("--cursor={}", text(&next["next_cursor"])));
    }

    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6"]);
    let scheduled = sandbox
        .run("job list q --state scheduled --json")
        .ok()
        .json();
    assert_eq!(scheduled.as_array().unwrap().len(), 1);
    assert_eq!(scheduled[0]["id"], "other");
}

#[test]
fn a_purge_leaves_neither_ready_nor_scheduled_jobs() {
    let sandbox = Sandbox::new();
    let lines = "{}\n".repeat(250);
    sandbox.feed("enqueue q --ndjson -", lines.as_bytes()).ok();
    sandbox.run("enqueue q x --delay 1h").ok();

    assert_eq!(
        sandbox.run("queue purge q --json").ok().json()["purged"],
        251
    );

    let stats = sandbox.run("queue stats q --json").ok().json();
    assert_eq!(
        (&stats["ready"], &stats["scheduled"]),
        (&0.into(), &0.into())
    );
}
