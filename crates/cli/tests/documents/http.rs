//! docs/http.md: runs every curl command it shows against a private server.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use crate::page::{Step, steps};
use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::shell::{Running, Shell};

const PAGE: &str = include_str!("../../../../docs/http.md");

/// How long an event may take to arrive.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_calls_of_the_page_on_http_answer_what_it_shows() {
    let mut shell = Shell::new(Sandbox::new());
    let needed = shell.run("curl --help all");
    assert!(needed.contains("--json"), "this test needs curl 7.82");
    let served = TestServer::new(&shell.sandbox);
    let other = Sandbox::new();
    let moved_to = TestServer::new(&other);
    shell.substitute("http://127.0.0.1:7700", &served.url());
    shell.substitute("http://127.0.0.1:7701", &moved_to.url());

    for step in steps(PAGE) {
        if step.command == "windlass serve" {
            // The server already runs, on a free port instead of the default one.
            assert_eq!(step.shown, "http://127.0.0.1:7700\n");
        } else if step.command.starts_with("curl -sN ") {
            follow_events(&shell, &step);
        } else if step.command.ends_with("windlass submit --watch") {
            let arguments = ["exec", "--queue", "delayed", "-j", "4", "--", "true"];
            let _worker = Running::start(shell.sandbox.command(&arguments));
            shell.play(&step);
        } else {
            shell.play(&step);
        }
    }

    let stats = other.run("queue stats mail --json").ok().json();
    assert_eq!(stats["ready"], 3, "the queue was moved");
}

/// Follows a stream until all lines of the page have arrived, in order, possibly among others.
fn follow_events(shell: &Shell, step: &Step) {
    let mut stream = Running::start(shell.command(&format!("exec {}", step.command)));
    let output = BufReader::new(stream.0.stdout.take().unwrap());
    let is_compared = |line: &&str| !line.is_empty() && !line.starts_with("id: ");
    let expected: Vec<String> = step
        .shown
        .lines()
        .filter(is_compared)
        .map(str::to_owned)
        .collect();
    let reading = std::thread::spawn(move || {
        let mut lines = output.lines().map(Result::unwrap);
        for line in expected {
            assert!(lines.any(|received| received == line), "{line}");
        }
    });
    // It is not known when the subscription starts, so the job is enqueued until its event arrives.
    let start = Instant::now();
    while !reading.is_finished() {
        assert!(
            start.elapsed() < EVENT_TIMEOUT,
            "not received: {}",
            step.shown
        );
        shell.sandbox.run("enqueue mail hello --id seen").ok();
        shell.sandbox.run("job cancel mail seen").ok();
        shell.sandbox.run("job delete mail seen").ok();
    }
    reading.join().unwrap();
}
