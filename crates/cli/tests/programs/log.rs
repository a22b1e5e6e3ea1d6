//! What workers log on stderr.

use std::io::{BufRead, BufReader, Lines};
use std::process::{ChildStderr, Command};

use serde_json::Value;
use windlass_testkit::redis::ServerOptions;

use super::running::{Running, finished, tail};
use super::sandbox::{Ran, Sandbox, text};
use super::test_store::TestStore;

/// Fails the job `bad` and succeeds otherwise.
const SCRIPT: &str = "[ $WINDLASS_JOB_ID != bad ] || { echo 'no ink' >&2; exit 3; }";

/// Commands that run until they are stopped.
const PROCESSES: [&str; 5] = [
    "exec --queue q -- true",
    "worker --queue q --stdio -- sleep 1000",
    "up --listen 127.0.0.1:0",
    "serve --listen 127.0.0.1:0",
    "maintain --every 1h",
];

/// Runs a job that succeeds, and one that fails twice and is dead then.
fn run_two_jobs(flags: &str) -> Ran {
    let sandbox = Sandbox::new();
    sandbox.job("good", "s3cr3t", "");
    sandbox.job("bad", "s3cr3t", "--kind letter --max-attempts 2");
    let mut command = sandbox.exec_command(flags);
    let ran = finished(command.arg("--burst").args(tail(SCRIPT)).spawn().unwrap()).ok();
    assert!(!ran.stderr.contains("s3cr3t"), "{}", ran.stderr);
    ran
}

/// Removes the times from log lines, which must have one, and the delay before a retry.
fn without_times(log: &str) -> Vec<String> {
    let lines = log.lines().map(|line| {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.len() == 20 && time.ends_with('Z'), "{line}");
        match rest.split_once(" retry_in=") {
            Some((rest, _)) => rest.to_owned(),
            None => rest.to_owned(),
        }
    });
    lines.collect()
}

#[test]
fn a_worker_logs_its_start_each_failure_and_its_stop_and_nothing_of_a_job_that_succeeds() {
    let ran = run_two_jobs("");

    let facts = "queue=q id=bad kind=letter attempt";
    assert_eq!(
        without_times(&ran.stderr),
        [
            format!(
                "worker started (Ctrl-C to stop) version={} store=sqlite:windlass.db queues=q concurrency=1",
                env!("CARGO_PKG_VERSION")
            ),
            "bad: no ink".to_owned(),
            format!("warning: attempt failed: exit status 3: no ink {facts}=1 max_attempts=2"),
            "bad: no ink".to_owned(),
            format!("error: job is dead: exit status 3: no ink {facts}=2 max_attempts=2"),
            "worker stopped succeeded=1 failed=1 dead=1".to_owned(),
        ]
    );
    assert_eq!(
        ran.text(),
        "1 succeeded, 1 failed (will be retried), 1 dead\n"
    );
}

#[test]
fn a_verbose_worker_also_logs_each_job() {
    let lines = without_times(&run_two_jobs("-v").stderr);

    let started = "job started queue=q id=good attempt=1";
    assert!(lines.iter().any(|line| line == started), "{lines:?}");
    let ended = "job succeeded queue=q id=good attempt=1 took=";
    assert!(
        lines.iter().any(|line| line.starts_with(ended)),
        "{lines:?}"
    );
}

#[test]
fn a_quiet_worker_logs_only_dead_jobs() {
    let lines = without_times(&run_two_jobs("--quiet").stderr);

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("error: job is dead: exit status 3"),
        "{lines:?}"
    );
}

#[test]
fn results_as_json_are_not_accompanied_by_a_log() {
    let ran = run_two_jobs("--json");

    assert_eq!(ran.json()["dead"], 1);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_json_log_has_one_object_per_line_with_stable_fields() {
    let ran = run_two_jobs("-v --log json --json");

    let lines: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &lines {
        for field in ["time", "level", "event", "message"] {
            assert!(line[field].is_string(), "{field}: {line}");
        }
    }
    let events: Vec<_> = lines.iter().map(|line| text(&line["event"])).collect();
    for event in [
        "worker_started",
        "job_started",
        "job_ended",
        "output",
        "attempt_failed",
        "job_dead",
        "worker_stopped",
    ] {
        assert!(events.contains(&event), "{event}: {events:?}");
    }
    let failed = lines
        .iter()
        .find(|line| line["event"] == "attempt_failed")
        .unwrap();
    assert_eq!(failed["level"], "warn");
    assert_eq!(failed["error"], "exit status 3: no ink");
    assert_eq!(
        (&failed["attempt"], &failed["max_attempts"]),
        (&1.into(), &2.into())
    );
    // The first delay of the default policy, at most.
    let retry_in = failed["retry_in_ms"].as_u64();
    assert!(retry_in.is_some_and(|ms| ms <= 1000), "{failed}");
}

/// The log of a running process, line by line.
struct LogLines(Lines<BufReader<ChildStderr>>);

impl LogLines {
    fn of(running: &mut Running) -> Self {
        Self(BufReader::new(running.take_stderr()).lines())
    }

    /// Returns the lines up to the first that contains `text`.
    fn until(&mut self, text: &str) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        while !seen.last().is_some_and(|line| line.contains(text)) {
            let line = self.0.next();
            seen.push(
                line.unwrap_or_else(|| panic!("no {text:?} in {seen:?}"))
                    .unwrap(),
            );
        }
        seen
    }
}

fn count(lines: &[String], text: &str) -> usize {
    lines.iter().filter(|line| line.contains(text)).count()
}

#[test]
fn an_outage_of_the_store_is_logged_once_when_it_begins_and_once_when_it_ends() {
    let sandbox = Sandbox::on(TestStore::redis());
    let mut worker = sandbox.start_exec("", "echo done > done");
    let mut log = LogLines::of(&mut worker);
    log.until("worker started");
    sandbox.job("1", "1", "");
    assert_eq!(sandbox.line_of("done"), "done");

    for _ in 0..2 {
        sandbox.store.server().kill();
        let lost = log.until("cannot reach the store, retrying: ");
        assert!(
            lost.last()
                .unwrap()
                .contains("Z warning: cannot reach the store"),
            "{lost:?}"
        );
        sandbox.store.server().restart();
        let back = log.until("the store is back");
        assert_eq!(count(&back, "cannot"), 0, "{back:?}");
        assert!(back.last().unwrap().contains("away="), "{back:?}");
    }

    std::fs::remove_file(sandbox.path("done")).unwrap();
    sandbox.job("2", "2", "");
    assert_eq!(sandbox.line_of("done"), "done");
    worker.stopped().ok();
}

#[test]
fn a_process_that_starts_while_the_store_is_away_waits_for_it_and_says_so() {
    for line in PROCESSES {
        let sandbox = Sandbox::on(TestStore::redis());
        sandbox.store.server().kill();
        let mut process = Running::new(sandbox.start(line));
        let mut log = LogLines::of(&mut process);

        let waits = log.until("cannot reach the store, retrying (Ctrl-C to stop): ");
        assert_eq!(waits.len(), 1, "{line}: {waits:?}");
        let help = log.until("help:");
        assert_eq!(help, ["  help: start the server, or correct the store URL"]);
        sandbox.store.server().restart();

        let mut begins = log.until("started version=");
        // The queue of a worker that starts before its first job is noted as new.
        begins.retain(|begin| !begin.contains("does not exist yet"));
        assert!(
            begins[0].contains("the store is back"),
            "{line}: {begins:?}"
        );
        assert_eq!(begins.len(), 2, "{line}: {begins:?}");
        process.stopped().ok();
    }
}

#[test]
fn a_process_that_waits_for_the_store_stops_on_a_signal() {
    for line in PROCESSES {
        let sandbox = Sandbox::on(TestStore::redis());
        sandbox.store.server().kill();
        let mut process = Running::new(sandbox.start(line));
        LogLines::of(&mut process).until("cannot reach the store");

        process.stopped().ok();
    }
}

#[test]
fn a_process_that_fails_fast_exits_if_the_store_is_away() {
    for line in PROCESSES {
        let sandbox = Sandbox::on(TestStore::redis());
        sandbox.store.server().kill();
        let (command, rest) = line.split_once(' ').unwrap();
        let ran = sandbox
            .run(&format!("{command} --fail-fast {rest}"))
            .exits(69);
        assert!(
            ran.stderr.starts_with("error: cannot connect"),
            "{line}: {}",
            ran.stderr
        );
    }
    // A server in between is reached with the first call.
    let ran = Sandbox::new().run("exec --fail-fast --store http://127.0.0.1:1 --queue q -- true");
    ran.exits(69);
}

#[test]
fn a_worker_waits_for_a_server_in_between() {
    let sandbox = Sandbox::new();
    let mut worker =
        Running::new(sandbox.start("exec --store http://127.0.0.1:1 --queue q -- true"));

    LogLines::of(&mut worker).until("cannot reach the store, retrying (Ctrl-C to stop): ");

    worker.stopped().ok();
}

#[test]
fn a_wrong_password_ends_a_process_at_once_and_is_not_shown() {
    let options = ServerOptions::new().tcp().line("requirepass s3cr3t");
    let server = options.start();
    let url = format!("redis://:wrong-s3cr3t@127.0.0.1:{}/0", server.port());
    for line in PROCESSES {
        let sandbox = Sandbox::new();
        let mut words: Vec<_> = line.split(' ').collect();
        words.splice(1..1, ["--log", "json", "--store", &url]);
        let ran = sandbox.run_words(&words).exits(69);
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(error["event"], "error", "{line}: {error}");
        assert_eq!(error["code"], "store_unreachable", "{line}: {error}");
        assert!(!ran.stderr.contains("s3cr3t"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn no_line_of_a_log_has_the_password_of_the_store() {
    let server = ServerOptions::new()
        .tcp()
        .line("requirepass s3cr3t")
        .start();
    let sandbox = Sandbox::new();
    let url = format!("redis://:s3cr3t@127.0.0.1:{}/0", server.port());
    let mut command: Command = sandbox.exec_command("-v --log json");
    command.args(["--store", &url]).args(tail("exit 1"));
    let mut worker = Running::new(command.spawn().unwrap());
    let mut log = LogLines::of(&mut worker);
    let mut lines = log.until("worker_started");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("redis://***@127.0.0.1")),
        "{lines:?}"
    );
    sandbox.run(&format!("enqueue q s3cr3t --store {url}")).ok();
    lines.extend(log.until("attempt_failed"));
    server.kill();
    lines.extend(log.until("store_lost"));
    drop(worker);
    let more = log.0.map_while(Result::ok);
    lines.extend(more);

    assert_eq!(count(&lines, "s3cr3t"), 0, "{lines:?}");
}
