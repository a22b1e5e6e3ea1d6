//! Invalid input is a usage error, and no store is created.

use super::sandbox::Sandbox;

fn refuses(words: &[&str]) {
    let sandbox = Sandbox::new();
    let mut line = words.to_vec();
    line.push("--json");
    let ran = sandbox.run_words(&line).exits(2);
    assert!(
        !ran.error()["help"].as_str().unwrap().is_empty(),
        "{words:?}"
    );
    assert!(!sandbox.has_store(), "{words:?}");
}

#[test]
fn wrong_names_are_refused() {
    let long = "q".repeat(129);
    for queue in ["", "a b", "a/b", "naïve", "a\nb", "a\u{1b}[2J", &long] {
        refuses(&["enqueue", queue, "x"]);
        refuses(&["claim", queue]);
        refuses(&["queue", "pause", queue]);
    }
    for text in ["", "a\nb", "a\u{7f}", &long] {
        refuses(&["enqueue", "q", "x", "--id", text]);
        refuses(&["enqueue", "q", "x", "--kind", text]);
        refuses(&["enqueue", "q", "x", "--unique-key", text]);
        refuses(&["job", "get", "q", text]);
    }
}

#[test]
fn wrong_numbers_are_refused() {
    for priority in ["10", "256", "-1", "", "high", "1.5"] {
        refuses(&["enqueue", "q", "x", "--priority", priority]);
    }
    for attempts in ["0", "-1", "many", "4294967296"] {
        refuses(&["enqueue", "q", "x", "--max-attempts", attempts]);
    }
    refuses(&["claim", "q", "--max", "0"]);
    refuses(&["job", "list", "q", "--limit", "0"]);
    for fraction in ["1.1", "-0.1", "NaN", "half"] {
        refuses(&["progress", "q", "1", "--token", "1-00000001", fraction]);
    }
}

#[test]
fn wrong_times_are_refused() {
    for duration in [
        "-5s",
        "5",
        "",
        "1w",
        "5 s",
        "9999999999999999999s",
        "36501d",
    ] {
        refuses(&["enqueue", "q", "x", "--delay", duration]);
        refuses(&["enqueue", "q", "x", "--timeout", duration]);
        refuses(&[
            "enqueue",
            "q",
            "x",
            "--unique-key",
            "k",
            "--unique-for",
            duration,
        ]);
        let postpone = ["--on-duplicate", "postpone", "--postpone-max", duration];
        refuses(&[&["enqueue", "q", "x"], &postpone[..]].concat());
    }
    refuses(&["enqueue", "q", "x", "--timeout", "0s"]);
    for time in ["-5", "", "tomorrow", "2026-01-31", "99999999999999"] {
        refuses(&["enqueue", "q", "x", "--at", time]);
        refuses(&["enqueue", "q", "x", "--expires", time]);
    }
    for lease in ["0s", "25h", "-1s"] {
        refuses(&["claim", "q", "--lease", lease]);
    }
    refuses(&["enqueue", "q", "x", "--delay", "5s", "--at", "60"]);
    refuses(&["maintain", "--every", "0s"]);
    refuses(&["maintain", "--every", "1m", "--audit-every", "0s"]);
    refuses(&["clean", "--every", "0s"]);
}

#[test]
fn wrong_tokens_settings_and_states_are_refused() {
    for token in ["", "x", "1", "1-1", "-1-00000001"] {
        refuses(&["complete", "q", "1", &format!("--token={token}")]);
    }
    for pair in [
        "colour=red",
        "requeue",
        "requeue=up",
        "poison_after=0",
        "=x",
    ] {
        refuses(&["queue", "set", "q", pair]);
    }
    refuses(&["job", "list", "q", "--state", "sleepy"]);
    refuses(&["enqueue", "q", "x", "--header", "no-equals-sign"]);
    refuses(&["enqueue", "q", "x", "--header", "a b=c"]);
}

#[test]
fn wrong_combinations_are_refused() {
    for line in [
        "",
        "enqueue",
        "job cancel q",
        "job cancel q 1 --all",
        "job cancel q --payload x --unique-key y",
        "job retry q 1 --state dead",
        "job promote q --unique-key k --state scheduled",
        "job delete q --unique-key k --state dead",
        "enqueue q x --unique-for 1h",
        "enqueue q x --unique-until start",
        "enqueue q x --unique-key k --unique-until claim",
        "enqueue q x --unique-key k --unique-until start --unique-for 1h",
        "enqueue q x --on-duplicate overwrite",
        "enqueue q x --on-duplicate keep,replace",
        "enqueue q x --on-duplicate replace --postpone-max 5m",
        "enqueue q --ndjson - --on-duplicate replace",
        "schedules put q n --every 1m --on-duplicate replace x",
        "schedules put q n --every 1m --postpone-max 5m x",
        "job cancel q --payload x --kind k",
        "snooze q 1 --token 1-00000001",
        "snooze q 1 --token 1-00000001 --for 1s --until 60",
        "fail q 1 --token 1-00000001",
        "fail q 1 --token 1-00000001 --error x --permanent --delay 1s",
        "enqueue q x --ndjson -",
        "enqueue q --ndjson - --id 1",
        "enqueue q --ndjson nowhere.ndjson",
        "maintain --audit-every 1h",
        "clean --deep-every 1h",
        "audit --every 1h",
        "claim q --dispatch --at-most-once",
        "claim q --dispatch --max 2",
    ] {
        refuses(&line.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn names_of_the_maximum_length_are_accepted() {
    let sandbox = Sandbox::new();
    let (queue, id) = ("q".repeat(128), "é".repeat(64));
    let words = ["enqueue", &queue, "x", "--id", &id, "--json"];

    let reply = sandbox.run_words(&words).ok().json();

    assert_eq!(reply["queue"], queue);
    assert_eq!(reply["id"], id);
}
