//! Commands that change many jobs show how many, and ask on a terminal.

use super::sandbox::Sandbox;
use super::terminal::run_on_terminal;

const NOT_CONFIRMED: &str = "add --yes to do it, or --dry-run to only see the number of jobs";

/// A queue with two ready jobs and a dead one, and another with a ready one.
fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --id dead").ok();
    let token = sandbox.claim("mail")["token"].to_string();
    let token = token.trim_matches('"');
    let fail = format!("fail mail dead --token {token} --error no --permanent");
    sandbox.run(&fail).ok();
    for line in [
        "enqueue mail x --kind letter",
        "enqueue mail x --delay 1h",
        "enqueue post x",
    ] {
        sandbox.run(line).ok();
    }
    sandbox
}

fn count(sandbox: &Sandbox, state: &str) -> i64 {
    let queues = sandbox.run("queue list --json").ok().json();
    let queues = queues.as_array().unwrap();
    queues
        .iter()
        .map(|queue| queue[state].as_i64().unwrap())
        .sum()
}

#[test]
fn without_a_terminal_a_change_of_many_jobs_must_be_confirmed() {
    let sandbox = filled();
    for (line, question) in [
        ("queue purge mail", "purge 2 waiting jobs in queue mail"),
        (
            "job cancel mail --all",
            "cancel 2 waiting and running jobs in queue mail",
        ),
        (
            "job cancel mail --all --kind letter --state ready",
            "cancel 1 ready job of kind letter in queue mail",
        ),
        ("job retry mail --all", "retry 1 dead job in queue mail"),
        (
            "job delete mail --all",
            "delete 1 finished job in queue mail",
        ),
        (
            "job promote mail --all",
            "promote 1 scheduled job in queue mail",
        ),
        (
            "job cancel --all --all-queues",
            "cancel 3 waiting and running jobs in 2 of 2 queues",
        ),
    ] {
        let ran = sandbox.run(line).exits(2);
        assert!(ran.stderr.contains(question), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(NOT_CONFIRMED), "{line}: {}", ran.stderr);

        let dry = sandbox.run(&format!("{line} --dry-run")).ok().text();
        assert_eq!(dry, format!("would {question}\n"), "{line}");
    }
    assert_eq!((count(&sandbox, "ready"), count(&sandbox, "dead")), (2, 1));

    sandbox.run("queue purge mail --yes").ok();
    sandbox.run("job retry mail --all -y").ok();
    assert_eq!((count(&sandbox, "ready"), count(&sandbox, "dead")), (2, 0));
}

#[test]
fn json_output_never_asks() {
    let sandbox = filled();

    let dry = sandbox.run("queue purge mail --dry-run --json").ok().json();
    assert_eq!(
        dry,
        serde_json::json!({"queue": "mail", "dry_run": true, "jobs": 2})
    );
    let dry = "job retry --all --all-queues --dry-run --json";
    let dry = sandbox.run(dry).ok().json();
    assert_eq!((&dry[0]["jobs"], &dry[1]["jobs"]), (&1.into(), &0.into()));
    let purged = sandbox.run("queue purge mail --json").ok().json();
    assert_eq!(purged["purged"], 2);
    let retried = sandbox
        .run("job retry --all --all-queues --json")
        .ok()
        .json();
    assert_eq!(
        (&retried[0]["done"], &retried[1]["done"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn on_a_terminal_a_change_of_many_jobs_is_asked_for() {
    let sandbox = filled();
    let question = "Purge 2 waiting jobs in queue mail? [y/N]";

    for refusal in ["n\n", "\n", "maybe\n", "\u{4}"] {
        let (code, text) = run_on_terminal(&sandbox, "queue purge mail", refusal);
        assert_eq!(code, Some(1), "{refusal:?}: {text}");
        assert!(text.contains(question), "{text}");
        assert!(text.contains("nothing was changed"), "{text}");
    }
    assert_eq!(count(&sandbox, "ready"), 2);

    let (code, text) = run_on_terminal(&sandbox, "queue purge mail", "y\n");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(question) && text.contains("2 jobs deleted"),
        "{text}"
    );
    // Nothing is left to ask about.
    let (code, text) = run_on_terminal(&sandbox, "queue purge mail", "");
    assert_eq!((code, text.trim()), (Some(0), "0 jobs deleted"));
}

#[test]
fn a_change_of_named_jobs_is_not_asked_for() {
    let sandbox = filled();

    sandbox.run("job retry mail dead").ok();

    sandbox.run("job delete mail dead --dry-run").exits(2);
    sandbox.run("job retry mail dead --all-queues").exits(2);
    sandbox.run("job retry --all-queues").exits(2);
    sandbox.run("queue purge mail --yes --dry-run").exits(2);
}

#[test]
fn a_queue_is_deleted_with_its_jobs_unless_one_runs() {
    let sandbox = filled();
    sandbox.run("queue set mail dead_age=1h").ok();
    let token = sandbox.claim("mail");
    let error = sandbox.run("queue delete mail --json").exits(4).error();
    assert_eq!(error["code"], "conflict");
    let (id, token) = (
        token["id"].as_str().unwrap(),
        token["token"].as_str().unwrap(),
    );
    sandbox
        .run(&format!("release mail {id} --token {token}"))
        .ok();

    let question = "delete 3 stored jobs in queue mail, and the queue";
    let refused = sandbox.run("queue delete mail").exits(2).stderr;
    assert!(refused.contains(question), "{refused}");
    let (code, _) = run_on_terminal(&sandbox, "queue delete mail", "n\n");
    assert_eq!((code, count(&sandbox, "dead")), (Some(1), 1));
    let (code, text) = run_on_terminal(&sandbox, "queue delete mail", "y\n");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("3 jobs and queue mail deleted"), "{text}");

    sandbox.run("queue stats mail").exits(3);
    sandbox.run("queue delete mail --yes").exits(3);
    assert_eq!(
        sandbox.run("queue list --json").ok().json()[0]["queue"],
        "post"
    );
    // An empty queue has settings, so it is asked for too.
    sandbox.run("queue set mail dead_age=1h").ok();
    let (code, text) = run_on_terminal(&sandbox, "queue delete mail", "n\n");
    assert_eq!(code, Some(1), "{text}");
    let deleted = sandbox.run("queue delete mail --json").ok().json();
    assert_eq!(
        deleted,
        serde_json::json!({"queue": "mail", "deleted": true, "jobs": 0})
    );
    let settings = sandbox.run("queue set mail --json").ok().json();
    assert_eq!(settings["settings"]["dead_age"], "30d");
}
