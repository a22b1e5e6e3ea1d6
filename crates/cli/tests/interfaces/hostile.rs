//! Ten thousand hostile lines with good ones between: each has one answer, and memory is bounded.

use std::io::{BufRead, Write};

use serde_json::Value;

use super::pipes::Door;
use super::hostile_lines;
use super::sandbox::Sandbox;

const HOSTILE: usize = 10_000;

/// A good line comes after so many hostile ones.
const EVERY: usize = 20;

/// More than this a door may never have had: the program itself, and a few of the longest lines.
const MEMORY_MAX_KIB: u64 = 64 * 1024;

/// What each line should be told: the id of a good one, or that it is hostile.
fn told(good: impl Fn(usize) -> String, verb: &str) -> (Vec<u8>, Vec<Option<usize>>) {
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for at in 0..HOSTILE {
        input.extend(hostile_lines::line(at, verb));
        input.push(b'\n');
        expected.push(None);
        if at % EVERY == EVERY - 1 {
            input.extend(good(at).into_bytes());
            input.push(b'\n');
            expected.push(Some(at));
        }
    }
    (input, expected)
}

/// Writes all and checks every answer; `part` picks what is looked at.
fn endure(
    mut door: Door,
    (input, expected): (Vec<u8>, Vec<Option<usize>>),
    part: impl Fn(&Value) -> &Value,
    reference: &str,
) {
    let mut pipe = door.take_input();
    let writer = std::thread::spawn(move || {
        pipe.write_all(&input).unwrap();
        pipe.flush().unwrap();
        pipe
    });
    let mut line = String::new();
    for (at, expected) in expected.iter().enumerate() {
        line.clear();
        assert_ne!(door.output().read_line(&mut line).unwrap(), 0, "line {at}");
        let reply: Value = serde_json::from_str(&line).unwrap();
        let reply = part(&reply);
        if let Some(good) = expected {
            assert_eq!(reply["ok"], true, "{line}");
            assert_eq!(reply[reference], *good, "{line}");
            continue;
        }
        assert_eq!(reply["ok"], false, "{line}");
        assert_eq!(reply["error"]["line"], at + 1, "{line}");
        for field in ["code", "message", "help"] {
            assert!(reply["error"][field].is_string(), "{line}");
        }
    }
    let pipe = writer.join().unwrap();
    let peak = door.memory_peak();
    drop(pipe);
    line.clear();
    assert_eq!(door.output().read_line(&mut line).unwrap(), 0, "{line}");
    assert_eq!(door.close().0.code(), Some(0));
    assert!(peak < MEMORY_MAX_KIB, "it had {peak} KiB");
}

fn ready(sandbox: &Sandbox) -> Value {
    sandbox.run("queue stats q --json").ok().json()["ready"].clone()
}

#[test]
fn stdio_answers_every_hostile_line_and_all_good_ones_between() {
    let sandbox = Sandbox::new();
    let good = |at| format!(r#"{{"op":"enqueue","ref":{at},"queue":"q","id":"good-{at}"}}"#);
    let lines = told(good, r#"{"op":"enqueue","queue":"q","id":"bad""#);
    endure(Door::open(&sandbox, "stdio"), lines, |reply| reply, "ref");
    assert_eq!(ready(&sandbox), HOSTILE / EVERY);
}

#[test]
fn the_processor_answers_every_hostile_line_and_all_good_ones_between() {
    let sandbox = Sandbox::new();
    let good = |at| {
        format!(
            r#"{{"topic":"add_job","reference":{at},"payload":{{"uuid":"good-{at}","queue_name":"q"}}}}"#
        )
    };
    let verb = r#"{"payload":{"uuid":"bad","queue_name":"q"},"topic":"add_job""#;
    let lines = told(good, verb);
    endure(
        Door::open(&sandbox, "processor"),
        lines,
        |reply| &reply["payload"],
        "reference",
    );
    assert_eq!(ready(&sandbox), HOSTILE / EVERY);
}

#[test]
fn a_line_of_256_mib_is_read_and_thrown_away() {
    let sandbox = Sandbox::new();
    for (line, question, part) in [
        ("stdio", r#"{"op":"queues"}"#, ""),
        ("processor", r#"{"topic":"tick"}"#, "/payload"),
    ] {
        let mut door = Door::open(&sandbox, line);
        let mut pipe = door.take_input();
        let writer = std::thread::spawn(move || {
            let piece = vec![b'['; 1024 * 1024];
            for _ in 0..256 {
                pipe.write_all(&piece).unwrap();
            }
            writeln!(pipe, "\n{question}").unwrap();
            pipe
        });
        let (refused, answered) = (door.hear(), door.hear());
        let pipe = writer.join().unwrap();
        assert_eq!(refused.pointer(part).unwrap()["error"]["line"], 1, "{line}");
        assert_eq!(answered.pointer(part).unwrap()["ok"], true, "{line}");
        let peak = door.memory_peak();
        assert!(peak < MEMORY_MAX_KIB, "it had {peak} KiB");
        drop(pipe);
        assert_eq!(door.close().0.code(), Some(0));
    }
}
