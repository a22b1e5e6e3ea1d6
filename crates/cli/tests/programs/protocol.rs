//! The protocol of resident workers: replies in any order, invalid replies, and other output.

use serde_json::Value;

use super::running::state_and_reason;
use super::sandbox::{Sandbox, text};

#[test]
fn a_few_lines_of_shell_are_a_worker() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3"] {
        sandbox.job(id, &format!("payload {id}"), "");
    }
    let script = r#"
        while read -r line; do case $line in *'"type":"job"'*)
            echo "$line" | sed 's/.*"id":"\([^"]*\)".*"token":"\([^"]*\)".*"payload":"\([^"]*\)".*/{"type":"done","id":"\1","token":"\2","result":"\3!"}/'
        esac; done"#;

    sandbox.worker("", script).ok();

    for id in ["1", "2", "3"] {
        assert_eq!(text(&sandbox.shown(id)["result"]), format!("payload {id}!"));
    }
}

#[test]
fn replies_may_come_in_any_order() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3"] {
        sandbox.job(id, id, "");
    }
    let script = r#". ./lib.sh
        next_job; a=$id; a_token=$token; next_job; b=$id; b_token=$token; next_job
        done_with "$id" "$token" "for $id"; done_with "$b" "$b_token" "for $b"
        done_with "$a" "$a_token" "for $a"; next_job"#;

    sandbox.worker("-j 3", script).ok();

    for id in ["1", "2", "3"] {
        assert_eq!(text(&sandbox.shown(id)["result"]), format!("for {id}"));
    }
}

#[test]
fn a_wrong_or_repeated_reply_is_ignored_and_has_no_effect() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    sandbox.job("2", "x", "");
    let script = r#". ./lib.sh
        next_job
        done_with nobody "$token" wrong
        done_with "$id" 1-00000000 wrong
        done_with "$id" "$token" right
        done_with "$id" "$token" repeated
        next_job; done_with "$id" "$token" right; next_job"#;

    let ran = sandbox.worker("", script).ok();

    for id in ["1", "2"] {
        assert_eq!(sandbox.shown(id)["result"], "right", "{id}");
    }
    assert_eq!(
        ran.stderr.matches("rejected: ").count(),
        3,
        "{}",
        ran.stderr
    );
}

#[test]
fn other_output_is_logged_with_the_job_and_warned_about_once() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");
    let script = r#". ./lib.sh
        next_job; echo 'stray one'; echo '{"stray":2}'; printf 'st\377ray\n'
        echo "{\"type\":\"fail\",\"id\":\"$id\",\"token\":\"$token\",\"error\":{\"kind\":\"Oops\",\"message\":\"no\"},\"retry\":false}"
        next_job"#;

    let ran = sandbox.worker("", script).ok();

    let job = sandbox.shown("1");
    assert_eq!(state_and_reason(&job), ("dead", "permanent"));
    for expected in ["Oops: no", "stray one", "{\"stray\":2}"] {
        assert!(text(&job["error"]).contains(expected), "{expected}: {job}");
    }
    assert_eq!(
        ran.stderr.matches("not a protocol message").count(),
        1,
        "{}",
        ran.stderr
    );
}

#[test]
fn in_strict_mode_other_output_is_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 1");
    let script = ". ./lib.sh; next_job; echo stray; next_job";

    sandbox.worker("--strict", script).ok();

    let job = sandbox.shown("1");
    assert!(
        text(&job["error"]).contains("not a protocol message: \"stray\""),
        "{job}"
    );
}

#[test]
fn progress_logs_snoozes_and_follow_up_jobs_are_supported() {
    let sandbox = Sandbox::new();
    sandbox.gate("gate");
    sandbox.job("1", "x", "");
    let script = r#". ./lib.sh
        echo '{"type":"ready","concurrency":1}'
        next_job
        echo "{\"type\":\"log\",\"id\":\"$id\",\"msg\":\"a line\"}"
        echo "{\"type\":\"progress\",\"id\":\"$id\",\"token\":\"$token\",\"value\":0.5,\"message\":\"half\"}"
        read -r _ < gate
        echo "{\"type\":\"enqueue\",\"ref\":7,\"id\":\"$id\",\"queue\":\"next\",\"jobs\":[{\"payload\":{\"a\":1},\"id\":\"n1\"},{\"payload\":\"b\"}]}"
        echo "{\"type\":\"enqueue\",\"ref\":8,\"jobs\":[{\"priority\":99}]}"
        read -r one; read -r two; printf '%s\n%s\n' "$one" "$two" > answers
        echo "{\"type\":\"snooze\",\"id\":\"$id\",\"token\":\"$token\",\"after_ms\":3600000}"
        next_job"#;
    let worker = sandbox.start_worker("", script);

    windlass_testkit::redis::until("progress", || {
        let job = sandbox.shown("1");
        if job["progress"] == 0.5 {
            Ok(())
        } else {
            Err(job.to_string())
        }
    });
    sandbox.open("gate");
    let job = sandbox.shown_in("1", "scheduled");
    assert_eq!(job["attempt"], 1, "a snooze counts no attempt");
    let answers = std::fs::read_to_string(sandbox.path("answers")).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |reference: u32| {
        answers
            .iter()
            .find(|answer| answer["ref"] == reference)
            .unwrap()
    };
    assert_eq!(of(7)["ids"][0], "n1");
    assert_eq!(of(8)["error"]["code"], "invalid");
    assert_eq!(
        sandbox.run("queue stats next --json").ok().json()["ready"],
        2
    );
    let ran = worker.stopped().ok();
    assert!(ran.stderr.contains("1: a line"), "{}", ran.stderr);
}

#[test]
fn a_process_that_asks_for_one_job_at_a_time_gets_one() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3", "4"] {
        sandbox.job(id, "x", "");
    }
    // The next line is the reply to its request, not another job.
    let script = r#". ./lib.sh
        echo '{"type":"ready","concurrency":1}'
        while next_job; do
            echo '{"type":"enqueue","ref":1,"queue":"other","jobs":[{"payload":"x"}]}'
            read -r line; echo "$line" >> next
            done_with "$id" "$token" ok
        done"#;

    sandbox.worker("-j 4", script).ok();

    let next = std::fs::read_to_string(sandbox.path("next")).unwrap();
    assert_eq!(next.lines().count(), 4, "{next}");
    assert!(next.lines().all(|line| line.contains("enqueued")), "{next}");
}
