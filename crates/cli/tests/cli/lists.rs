//! Listings: what a row shows, what fits a terminal, and what an empty one says.

use super::sandbox::{Sandbox, text};
use super::terminal::run_on_terminal;

const ERROR: &str =
    "cannot reach the server of example.com: no route to host, tried for 30 s\nat send (mail.py:7)";

/// Fails the job at the head of a queue.
fn fail(sandbox: &Sandbox, queue: &str, flags: &[&str]) {
    let claimed = sandbox.claim(queue);
    let (id, token) = (text(&claimed["id"]), text(&claimed["token"]));
    let words = ["fail", queue, id, "--token", token, "--error", ERROR];
    let words: Vec<_> = words.iter().chain(flags).collect();
    sandbox.run_words(&words).ok();
}

#[test]
fn dead_and_retrying_jobs_show_the_first_line_of_their_error() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --kind letter").ok();
    fail(&sandbox, "mail", &["--permanent"]);
    sandbox.run("enqueue mail x --kind letter").ok();
    fail(&sandbox, "mail", &["--delay", "90m"]);
    let first = ERROR.lines().next().unwrap();

    let piped = sandbox.run("job list mail").ok().text();
    assert_eq!(piped.matches(first).count(), 2, "{piped}");
    assert!(!piped.contains("mail.py"), "{piped}");
    assert!(piped.contains("in 1h"), "{piped}");

    let (_, shown) = run_on_terminal(&sandbox, "job list mail", "");
    assert_eq!(shown.matches("cannot reach t").count(), 2, "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(shown.contains('…'), "{shown}");

    let id = piped.lines().nth(1).unwrap().split(' ').next().unwrap();
    let job = sandbox.run(&format!("job get mail {id}")).ok().text();
    let lines = job.lines().skip_while(|line| !line.starts_with("error"));
    let error: Vec<_> = lines
        .take(2)
        .map(|line| line[line.find("  ").unwrap()..].trim())
        .collect();
    assert_eq!(error.join("\n"), ERROR, "{job}");
}

#[test]
fn a_running_job_shows_its_worker_and_the_end_of_its_lease() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --id 1").ok();
    let claimed = sandbox.run("claim mail --worker w-1 --json").ok().json();

    let job = sandbox.run("job get mail 1 --json").ok().json();

    assert_eq!(job["lease_until"], claimed[0]["lease_until"]);
    assert_eq!(job["worker"], "w-1");
    let shown = sandbox.run("job get mail 1").ok().text();
    assert!(shown.contains(text(&job["lease_until"])), "{shown}");
}

#[test]
fn all_queues_are_listed_page_by_page() {
    let sandbox = Sandbox::new();
    for queue in ["a", "b", "c"] {
        for id in ["1", "2"] {
            sandbox.run(&format!("enqueue {queue} x --id {id}")).ok();
        }
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let line = format!("job list --all-queues --limit 2 --json {cursor}");
        let ran = sandbox.run(&line).ok();
        let jobs = ran.json();
        seen.extend(
            jobs.as_array()
                .unwrap()
                .iter()
                .map(|job| format!("{}{}", text(&job["queue"]), text(&job["id"]))),
        );
        if ran.stderr.is_empty() {
            break;
        }
        let next: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
        cursor = format!("--cursor {}", text(&next["next_cursor"]));
    }

    assert_eq!(seen, ["a1", "a2", "b1", "b2", "c1", "c2"]);
    let shown = sandbox.run("job list --all-queues").ok().text();
    assert!(shown.starts_with("QUEUE  ID"), "{shown}");
    sandbox.run("job list a --all-queues").exits(2);
    sandbox.run("job list").exits(2);
    let stats = sandbox.run("queue stats --all-queues --json").ok().json();
    let queues: Vec<_> = stats
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| text(&queue["queue"]))
        .collect();
    assert_eq!(queues, ["a", "b", "c"]);
}

#[test]
fn an_empty_listing_says_why() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --id 1").ok();
    let token = sandbox.claim("mail");
    let complete = format!("complete mail 1 --token {}", text(&token["token"]));
    sandbox.run(&complete).ok();

    for (line, why) in [
        (
            "job list mail",
            "no jobs in queue mail: 1 succeeded and were not kept; to keep the next ones, run `windlass queue set mail keep_succeeded=all`",
        ),
        (
            "job list mail --state dead --kind letter",
            "no dead jobs of kind letter in queue mail",
        ),
        (
            "job list mial",
            "no jobs: new queue mial; did you mean mail?",
        ),
        (
            "job list letters",
            "no jobs: queue letters does not exist yet; the first enqueue creates it",
        ),
        (
            "job list --all-queues --state dead",
            "no dead jobs in queue mail",
        ),
    ] {
        let ran = sandbox.run(line).ok();
        assert_eq!(
            (ran.text().as_str(), ran.stderr.trim()),
            ("", why),
            "{line}"
        );
        let ran = sandbox.run(&format!("{line} --json")).ok();
        assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("[]\n", ""));
    }
}
