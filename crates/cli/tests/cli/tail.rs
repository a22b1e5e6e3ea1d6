//! `windlass tail`: events as they happen.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;

use super::sandbox::{Sandbox, text};

/// Reads the printed events in the background.
fn events_of(tail: &mut Child) -> Receiver<Value> {
    let stdout = BufReader::new(tail.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    lines
}

/// Returns the first event. Enqueues jobs until one is seen, since the start of the watch is not visible.
fn until_seen(sandbox: &Sandbox, lines: &Receiver<Value>) -> Value {
    let seen = (0..100).find_map(|number| {
        sandbox
            .run(&format!("enqueue q x --id {number} --kind letter"))
            .ok();
        lines.recv_timeout(Duration::from_millis(200)).ok()
    });
    seen.expect("an event is seen")
}

#[test]
fn jobs_are_seen_as_they_come_and_end_in_named_and_in_new_queues() {
    for line in ["tail q --json", "tail --json"] {
        let sandbox = Sandbox::new();
        sandbox.run("queue pause q").ok();
        let mut tail = sandbox.start(line);
        let lines = events_of(&mut tail);

        let seen = until_seen(&sandbox, &lines);
        tail.kill().unwrap();
        tail.wait().unwrap();

        assert_eq!(
            (&seen["event"], &seen["queue"]),
            (&"job".into(), &"q".into())
        );
        assert_eq!(seen["state"], "ready");
        assert_eq!(
            (&seen["attempt"], &seen["kind"]),
            (&1.into(), &"letter".into())
        );
    }
}

/// Starts `tail` and waits until it listens. Returns its printed lines.
fn listening(sandbox: &Sandbox, line: &str) -> (Child, Receiver<String>) {
    let mut tail = sandbox.start(line);
    let mut notes = BufReader::new(tail.stderr.take().unwrap()).lines();
    assert!(
        notes.any(|note| note.unwrap().starts_with("listening")),
        "the note is printed"
    );
    // Later notes must not block it.
    std::thread::spawn(move || notes.for_each(drop));
    let stdout = BufReader::new(tail.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    (tail, lines)
}

fn end(mut tail: Child) {
    tail.kill().unwrap();
    tail.wait().unwrap();
}

/// Returns the first line with this text.
fn line_with(lines: &Receiver<String>, text: &str) -> String {
    let mut lines = std::iter::from_fn(|| lines.recv_timeout(Duration::from_secs(30)).ok());
    let line = lines.find(|line| line.contains(text));
    line.unwrap_or_else(|| panic!("no line with {text}"))
}

#[test]
fn the_first_job_of_a_queue_that_did_not_exist_is_shown() {
    for line in ["tail", "tail new other"] {
        let sandbox = Sandbox::new();
        sandbox.run("queue pause q").ok();
        let (tail, lines) = listening(&sandbox, line);

        sandbox.run("enqueue new x --id first --kind letter").ok();

        let shown = line_with(&lines, "first");
        end(tail);
        assert!(
            shown.contains("  ready      new  first  attempt 1 of "),
            "{shown}"
        );
        assert!(shown.ends_with(", letter"), "{shown}");
    }
}

#[test]
fn jobs_of_a_new_queue_that_are_not_shown_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();
    let (tail, lines) = listening(&sandbox, "tail");

    sandbox
        .feed(
            "enqueue new --ndjson -",
            "{\"payload\":\"x\"}\n".repeat(150).as_bytes(),
        )
        .ok();

    let shown = line_with(&lines, "resync");
    end(tail);
    assert!(shown.ends_with("events were lost"), "{shown}");
}

#[test]
fn a_failed_attempt_shows_the_first_line_of_its_error() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();
    sandbox.run("queue resume q").ok();
    let (tail, lines) = listening(&sandbox, "tail q");

    // A server may start to listen a little later than `tail`.
    let shown = (0..100).find_map(|number| {
        let job = format!("enqueue q x --id {number} --kind letter --max-attempts 1");
        sandbox.run(&job).ok();
        let claimed = sandbox.claim("q");
        let (id, token) = (text(&claimed["id"]), text(&claimed["token"]));
        let fail = [
            "fail",
            "q",
            id,
            "--token",
            token,
            "--error",
            "no stamp\nat line 3",
        ];
        sandbox.run_words(&fail).ok();
        let mut lines = std::iter::from_fn(|| lines.recv_timeout(Duration::from_millis(500)).ok());
        lines.find(|line| line.contains("  dead "))
    });

    end(tail);
    let shown = shown.expect("the event is seen");
    assert!(
        shown.ends_with("  attempt 1 of 1, letter: no stamp"),
        "{shown}"
    );
}
