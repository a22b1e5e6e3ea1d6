//! `windlass tail`: events as they happen.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;

use super::sandbox::Sandbox;

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
        sandbox.run(&format!("enqueue q x --id {number}")).ok();
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
    }
}

#[test]
fn possibly_lost_events_of_a_new_queue_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();
    let mut tail = sandbox.start("tail --json");
    let lines = events_of(&mut tail);
    // Once an event of the first queue is seen, the watch is active.
    until_seen(&sandbox, &lines);

    sandbox.run("enqueue new x").ok();
    let mut events = std::iter::from_fn(|| lines.recv_timeout(Duration::from_secs(10)).ok());
    let resync = events.find(|line| line["event"] != "job");
    tail.kill().unwrap();
    tail.wait().unwrap();

    assert_eq!(
        resync.expect("a resync event is printed")["event"],
        "resync"
    );
}

#[test]
fn a_missing_queue_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();

    assert_eq!(
        sandbox.run("tail p --json").exits(3).error()["code"],
        "not_found"
    );
}
