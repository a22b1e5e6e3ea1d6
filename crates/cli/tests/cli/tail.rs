//! `windlass tail`: events as they happen.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::Value;

use super::sandbox::Sandbox;

/// The lines that it prints, as they come.
fn heard_by(tail: &mut Child) -> Receiver<Value> {
    let stdout = BufReader::new(tail.stdout.take().unwrap());
    let (heard, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = heard.send(serde_json::from_str::<Value>(&line).unwrap());
        }
    });
    lines
}

/// The first event. Nobody says when the listening has begun: jobs come until one is seen.
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
        let lines = heard_by(&mut tail);

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
fn what_may_be_lost_of_a_new_queue_is_told() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();
    let mut tail = sandbox.start("tail --json");
    let lines = heard_by(&mut tail);
    // Once an event of the first queue is seen, the listening has begun.
    until_seen(&sandbox, &lines);

    sandbox.run("enqueue new x").ok();
    let mut heard = std::iter::from_fn(|| lines.recv_timeout(Duration::from_secs(10)).ok());
    let told = heard.find(|line| line["event"] != "job");
    tail.kill().unwrap();
    tail.wait().unwrap();

    assert_eq!(told.expect("it is told")["event"], "resync");
}

#[test]
fn a_queue_that_is_not_there_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause q").ok();

    assert_eq!(
        sandbox.run("tail p --json").exits(3).error()["code"],
        "not_found"
    );
}
