//! Ten thousand hostile lines with valid ones between: each gets one reply, and memory is bounded.

use std::io::{BufRead, Write};

use serde_json::Value;

use super::hostile_lines;
use super::pipes::PipeSession;
use super::sandbox::Sandbox;

const HOSTILE: usize = 10_000;

/// The number of hostile lines per valid one.
const EVERY: usize = 20;

/// The maximum peak memory: the program itself and a few of the longest lines.
const MEMORY_MAX_KIB: u64 = 64 * 1024;

/// Returns the input, and the expected reply per line: the reference of a valid line, or `None`.
fn input(valid: impl Fn(usize) -> String, verb: &str) -> (Vec<u8>, Vec<Option<usize>>) {
    let (mut input, mut expected) = (Vec::new(), Vec::new());
    for at in 0..HOSTILE {
        input.extend(hostile_lines::line(at, verb));
        input.push(b'\n');
        expected.push(None);
        if at % EVERY == EVERY - 1 {
            input.extend(valid(at).into_bytes());
            input.push(b'\n');
            expected.push(Some(at));
        }
    }
    (input, expected)
}

/// Writes all lines and checks every reply; `part` selects the part of the reply to check.
fn check_replies(
    mut session: PipeSession,
    (input, expected): (Vec<u8>, Vec<Option<usize>>),
    part: impl Fn(&Value) -> &Value,
    reference: &str,
) {
    let mut pipe = session.take_input();
    let writer = std::thread::spawn(move || {
        pipe.write_all(&input).unwrap();
        pipe.flush().unwrap();
        pipe
    });
    let mut line = String::new();
    for (at, expected) in expected.iter().enumerate() {
        line.clear();
        assert_ne!(
            session.output().read_line(&mut line).unwrap(),
            0,
            "line {at}"
        );
        let reply: Value = serde_json::from_str(&line).unwrap();
        let reply = part(&reply);
        if let Some(valid) = expected {
            assert_eq!(reply["ok"], true, "{line}");
            assert_eq!(reply[reference], *valid, "{line}");
            continue;
        }
        assert_eq!(reply["ok"], false, "{line}");
        assert_eq!(reply["error"]["line"], at + 1, "{line}");
        for field in ["code", "message", "help"] {
            assert!(reply["error"][field].is_string(), "{line}");
        }
    }
    let pipe = writer.join().unwrap();
    let peak = session.memory_peak();
    drop(pipe);
    line.clear();
    assert_eq!(session.output().read_line(&mut line).unwrap(), 0, "{line}");
    assert_eq!(session.close().0.code(), Some(0));
    assert!(peak < MEMORY_MAX_KIB, "peak memory: {peak} KiB");
}

fn ready(sandbox: &Sandbox) -> Value {
    sandbox.run("queue stats q --json").ok().json()["ready"].clone()
}

#[test]
fn stdio_replies_to_every_hostile_line_and_all_valid_ones_between() {
    let sandbox = Sandbox::new();
    let valid = |at| format!(r#"{{"op":"enqueue","ref":{at},"queue":"q","id":"good-{at}"}}"#);
    let lines = input(valid, r#"{"op":"enqueue","queue":"q","id":"bad""#);
    check_replies(
        PipeSession::start(&sandbox, "stdio"),
        lines,
        |reply| reply,
        "ref",
    );
    assert_eq!(ready(&sandbox), HOSTILE / EVERY);
}

#[test]
fn the_processor_replies_to_every_hostile_line_and_all_valid_ones_between() {
    let sandbox = Sandbox::new();
    let valid = |at| {
        format!(
            r#"{{"topic":"add_job","reference":{at},"payload":{{"uuid":"good-{at}","queue_name":"q"}}}}"#
        )
    };
    let message = r#"{"payload":{"uuid":"bad","queue_name":"q"},"topic":"add_job""#;
    let lines = input(valid, message);
    check_replies(
        PipeSession::start(&sandbox, "processor"),
        lines,
        |reply| &reply["payload"],
        "reference",
    );
    assert_eq!(ready(&sandbox), HOSTILE / EVERY);
}

#[test]
fn a_line_of_256_mib_is_read_and_discarded() {
    let sandbox = Sandbox::new();
    for (line, request, part) in [
        ("stdio", r#"{"op":"queues"}"#, ""),
        ("processor", r#"{"topic":"tick"}"#, "/payload"),
    ] {
        let mut session = PipeSession::start(&sandbox, line);
        let mut pipe = session.take_input();
        let writer = std::thread::spawn(move || {
            let chunk = vec![b'['; 1024 * 1024];
            for _ in 0..256 {
                pipe.write_all(&chunk).unwrap();
            }
            writeln!(pipe, "\n{request}").unwrap();
            pipe
        });
        let (error, reply) = (session.read_reply(), session.read_reply());
        let pipe = writer.join().unwrap();
        assert_eq!(error.pointer(part).unwrap()["error"]["line"], 1, "{line}");
        assert_eq!(reply.pointer(part).unwrap()["ok"], true, "{line}");
        let peak = session.memory_peak();
        assert!(peak < MEMORY_MAX_KIB, "peak memory: {peak} KiB");
        drop(pipe);
        assert_eq!(session.close().0.code(), Some(0));
    }
}
