//! docs/http.md: every call that it shows, by curl, at a server of its own.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use crate::caller::Served;
use crate::page::{Step, steps};
use crate::sandbox::Sandbox;
use crate::shell::{Running, Shell};

const PAGE: &str = include_str!("../../../../docs/http.md");

/// How long an event may take to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_calls_of_the_page_on_http_answer_what_it_shows() {
    let mut shell = Shell::new(Sandbox::new());
    let needed = shell.run("curl --help all");
    assert!(needed.contains("--json"), "this test needs curl 7.82");
    let served = Served::new(&shell.sandbox);
    let other = Sandbox::new();
    let moved_to = Served::new(&other);
    shell.instead("http://127.0.0.1:7700", &served.url());
    shell.instead("http://127.0.0.1:7701", &moved_to.url());

    for step in steps(PAGE) {
        if step.command == "windlass serve" {
            // It runs since before; this one would listen where anything else may.
            assert_eq!(step.shown, "http://127.0.0.1:7700\n");
        } else if step.command.starts_with("curl -sN ") {
            listen(&shell, &step);
        } else if step.command.ends_with("windlass submit --watch") {
            let words = ["exec", "--queue", "delayed", "-j", "4", "--", "true"];
            let _worker = Running::start(shell.sandbox.command(&words));
            shell.play(&step);
        } else {
            shell.play(&step);
        }
    }

    let stats = other.run("queue stats mail --json").ok().json();
    assert_eq!(stats["ready"], 3, "the queue was moved");
}

/// Follows a stream until all lines of the page have come, in their order, perhaps with others.
fn listen(shell: &Shell, step: &Step) {
    let mut stream = Running::start(shell.command(&format!("exec {}", step.command)));
    let heard = BufReader::new(stream.0.stdout.take().unwrap());
    let is_told = |line: &&str| !line.is_empty() && !line.starts_with("id: ");
    let told: Vec<String> = step
        .shown
        .lines()
        .filter(is_told)
        .map(str::to_owned)
        .collect();
    let reading = std::thread::spawn(move || {
        let mut lines = heard.lines().map(Result::unwrap);
        for line in told {
            assert!(lines.any(|heard| heard == line), "{line}");
        }
    });
    // Nobody says when the listening has begun: the job comes until it is seen.
    let began = Instant::now();
    while !reading.is_finished() {
        assert!(began.elapsed() < PATIENCE, "{} is not heard", step.shown);
        shell.sandbox.run("enqueue mail hello --id seen").ok();
        shell.sandbox.run("job cancel mail seen").ok();
        shell.sandbox.run("job delete mail seen").ok();
    }
    reading.join().unwrap();
}
