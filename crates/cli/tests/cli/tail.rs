//! `windlass tail`: events as they happen.

use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use super::sandbox::Sandbox;

#[test]
fn jobs_are_seen_as_they_come_and_end_in_named_and_in_new_queues() {
    for line in ["tail q --json", "tail --json"] {
        let sandbox = Sandbox::new();
        sandbox.run("queue pause q").ok();
        let mut tail = sandbox.start(line);
        let stdout = BufReader::new(tail.stdout.take().unwrap());
        let (heard, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = heard.send(serde_json::from_str::<Value>(&line).unwrap());
            }
        });

        // Nobody says when the listening has begun: jobs come until one is seen.
        let seen = (0..100).find_map(|number| {
            sandbox.run(&format!("enqueue q x --id {number}")).ok();
            lines.recv_timeout(Duration::from_millis(200)).ok()
        });
        tail.kill().unwrap();
        tail.wait().unwrap();

        let seen = seen.expect("an event is seen");
        assert_eq!(
            (&seen["event"], &seen["queue"]),
            (&"job".into(), &"q".into())
        );
        assert_eq!(seen["state"], "ready");
    }
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
