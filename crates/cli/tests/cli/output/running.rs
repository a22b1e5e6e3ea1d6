//! Transcripts of commands that run until a signal, and of those that need a program.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::super::sandbox::{Ran, Sandbox};
use super::shown;

/// A worker in shell: completes each job with its payload.
const ECHO: &str = r#"while read -r line; do case $line in *'"type":"job"'*)
    echo "$line" | sed 's/.*"id":"\([^"]*\)".*"token":"\([^"]*\)".*"payload":"\([^"]*\)".*/{"type":"done","id":"\1","token":"\2","result":"\3"}/'
esac; done"#;

const REGISTER: &str = r#"{"op":"register","worker":"w-1","host":"box","pid":7,"queues":["mail"]}"#;

/// How long to wait for an event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the name and text of each transcript.
pub(super) fn transcripts() -> Vec<(&'static str, String)> {
    vec![
        (
            "windlass-serve",
            twice(|json| stopped("serve --listen 127.0.0.1:0", json)),
        ),
        ("windlass-tail", twice(tail)),
        (
            "windlass-up",
            twice(|json| stopped("up --listen 127.0.0.1:0 --queue mail -- cat", json)),
        ),
        ("windlass-worker", twice(worker)),
        ("windlass-workers-list", twice(workers)),
    ]
}

fn twice(run: impl Fn(&str) -> String) -> String {
    format!("{}\n{}", run(""), run("--json "))
}

/// Starts a command line, waits for its first line of output, and sends SIGTERM.
fn stopped(line: &str, json: &str) -> String {
    let sandbox = Sandbox::new();
    let line = format!("{json}{line}");
    let child = sandbox.start(&line);
    shown(&line, &ended(child))
}

/// Waits for one line of output, then terminates the child; returns all its output.
fn ended(mut child: Child) -> Ran {
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut printed = String::new();
    stdout.read_line(&mut printed).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    stdout.read_to_string(&mut printed).unwrap();
    let mut ran = Ran::from(child.wait_with_output().unwrap());
    ran.stdout = printed.into_bytes();
    ran
}

fn tail(json: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.run("queue pause mail").ok();
    let line = format!("{json}tail mail");
    let mut child = sandbox.start(&line);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let reading = std::thread::spawn(move || {
        let mut printed = String::new();
        stdout.read_line(&mut printed).unwrap();
        printed
    });
    // The start of the watch is not visible: add jobs until an event is seen.
    let began = Instant::now();
    let mut jobs = 0;
    while !reading.is_finished() {
        assert!(began.elapsed() < EVENT_TIMEOUT, "no event was printed");
        jobs += 1;
        sandbox
            .run(&format!("enqueue mail hello --id letter-{jobs}"))
            .ok();
    }
    child.kill().unwrap();
    let mut printed = reading.join().unwrap();
    let mut ran = Ran::from(child.wait_with_output().unwrap());
    for number in 2..=jobs {
        printed = printed.replace(&format!("letter-{number}"), "letter-1");
    }
    (ran.stdout, ran.code) = (printed.into_bytes(), Some(0));
    shown(&line, &ran)
}

fn worker(json: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail hello --id 1").ok();
    let line = format!("{json}worker --queue mail --stdio --burst --");
    let words: Vec<&str> = line.split_whitespace().chain(["sh", "-c", ECHO]).collect();
    let ran = sandbox.run_words(&words);
    shown(&format!("{line} ./echo"), &ran)
}

fn workers(json: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail hello").ok();
    let mut text = String::new();
    for line in ["workers", "workers list"] {
        let line = format!("{json}{line}");
        text += &shown(&line, &sandbox.run(&line));
        sandbox.feed("stdio", REGISTER.as_bytes()).ok();
    }
    text
}
