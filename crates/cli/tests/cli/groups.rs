//! Groups from the command line: limits, fairness, pause and rests.

use serde_json::Value;

use super::sandbox::{Sandbox, text};

fn enqueue(sandbox: &Sandbox, ids: &[&str], group: &str) {
    for id in ids {
        let line = format!("enqueue q {id} --id {id} --group {group}");
        sandbox.run(&line).ok();
    }
}

fn claim(sandbox: &Sandbox, max: usize) -> Vec<Value> {
    let claimed = sandbox.run(&format!("claim q --max {max} --json")).ok();
    claimed.json().as_array().unwrap().clone()
}

fn ids(claimed: &[Value]) -> Vec<&str> {
    claimed.iter().map(|job| text(&job["id"])).collect()
}

#[test]
fn groups_take_turns_and_keep_their_limits() {
    let sandbox = Sandbox::new();
    sandbox.run("queue set q group_max_running=2").ok();
    enqueue(&sandbox, &["a1", "a2", "a3"], "a");
    enqueue(&sandbox, &["b1", "b2"], "b");
    sandbox.run("groups set q b max_running=1").ok();

    let claimed = claim(&sandbox, 10);

    assert_eq!(ids(&claimed), ["a1", "b1", "a2"]);
    assert_eq!(claimed[1]["group"], "b");
    let groups = sandbox.run("groups list q --json").ok().json();
    for (group, name, limit) in [(&groups[0], "a", 2), (&groups[1], "b", 1)] {
        assert_eq!((text(&group["group"]), &group["ready"]), (name, &1.into()));
        assert_eq!(group["running"], limit);
        assert_eq!(group["max_running"], limit);
    }
}

#[test]
fn a_job_of_a_group_says_so_in_every_view() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["a1"], "acme");
    let got = sandbox.run("job get q a1 --json").ok().json();
    let listed = sandbox.run("job list q --json").ok().json();
    assert_eq!(text(&got["group"]), "acme");
    assert_eq!(text(&listed[0]["group"]), "acme");
    assert!(sandbox.run("job list q").ok().text().contains("acme"));
}

#[test]
fn groups_are_listed_in_pages() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["1"], "a");
    enqueue(&sandbox, &["2"], "b");
    enqueue(&sandbox, &["3"], "c");

    let first = sandbox.run("groups list q --limit 2 --json").ok();
    let next: Value = serde_json::from_str(&first.stderr).unwrap();
    let cursor = format!("--cursor={}", text(&next["next_cursor"]));
    let words = ["groups", "list", "q", "--json", cursor.as_str()];
    let second = sandbox.run_words(&words).ok();

    assert_eq!(first.json().as_array().unwrap().len(), 2);
    assert_eq!(text(&second.json()[0]["group"]), "c");
    assert_eq!(second.stderr, "");
}

#[test]
fn a_paused_group_hands_out_nothing_and_others_continue() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["a1"], "a");
    enqueue(&sandbox, &["b1"], "b");

    assert_eq!(sandbox.run("groups pause q a").ok().text(), "paused\n");
    assert_eq!(ids(&claim(&sandbox, 10)), ["b1"]);
    assert_eq!(sandbox.run("groups resume q a").ok().text(), "resumed\n");
    assert_eq!(ids(&claim(&sandbox, 10)), ["a1"]);
}

#[test]
fn a_snoozed_group_rests_until_it_is_resumed() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["a1", "a2"], "a");
    enqueue(&sandbox, &["b1"], "b");
    let token = text(&claim(&sandbox, 1)[0]["token"]).to_owned();

    let snooze = format!("snooze q a1 --token {token} --for 1h --scope group");
    assert_eq!(sandbox.run(&snooze).ok().text(), "snoozed\n");

    assert_eq!(ids(&claim(&sandbox, 10)), ["b1"]);
    let shown = sandbox.run("groups show q a --json").ok().json();
    assert!(shown["resting_until"].is_string(), "{shown}");
    sandbox.run("groups resume q a").ok();
    let claimed = claim(&sandbox, 10);
    assert_eq!(ids(&claimed), ["a1", "a2"]);
    assert_eq!(claimed[0]["attempt"], 1, "a snooze uses no attempt");
}

#[test]
fn a_snoozed_queue_says_that_it_rests() {
    let sandbox = Sandbox::new();
    enqueue(&sandbox, &["a1"], "a");
    let token = text(&claim(&sandbox, 1)[0]["token"]).to_owned();
    let snooze = format!("snooze q a1 --token {token} --for 1h --scope queue");
    sandbox.run(&snooze).ok();

    let empty = sandbox.run("claim q").ok();
    assert!(empty.stderr.contains("queue q rests"), "{}", empty.stderr);
    let stats = sandbox.run("queue stats q --json").ok().json();
    assert!(stats["resting_ms"].as_u64().unwrap() > 3_500_000, "{stats}");
    sandbox.run("queue resume q").ok();
    assert_eq!(ids(&claim(&sandbox, 1)), ["a1"]);
}

#[test]
fn a_lane_stops_at_a_dead_job_until_it_is_retried() {
    let sandbox = Sandbox::new();
    sandbox.run("queue set q group_slot=success").ok();
    enqueue(&sandbox, &["a1", "a2"], "a");
    let claimed = claim(&sandbox, 10);
    assert_eq!(ids(&claimed), ["a1"]);
    let token = text(&claimed[0]["token"]).to_owned();
    let fail = format!("fail q a1 --token {token} --error broken --permanent");
    sandbox.run(&fail).ok();

    let empty = sandbox.run("claim q").ok();
    assert!(
        empty.stderr.contains("1 jobs are ready"),
        "{}",
        empty.stderr
    );
    sandbox.run("job retry q a1").ok();
    let claimed = claim(&sandbox, 10);
    assert_eq!(ids(&claimed), ["a1"]);
    let token = text(&claimed[0]["token"]).to_owned();
    sandbox.run(&format!("complete q a1 --token {token}")).ok();
    assert_eq!(ids(&claim(&sandbox, 10)), ["a2"]);
}
