//! Jobs with due times, enqueued over HTTP and run by any program: each once, never early.

use std::collections::HashMap;
use std::process::Child;

use serde_json::Value;

use crate::pull_worker::{LEASE, PullWorker, SHORT_LEASE};
use crate::sandbox::Sandbox;
use crate::server::TestServer;

/// The number of jobs per run; the full test uses 1000.
fn jobs() -> usize {
    let count = std::env::var("WINDLASS_DUE_JOBS").ok();
    count.and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn submit(sandbox: &Sandbox, server: &TestServer) -> Value {
    let set = r#"{"settings":{"keep_succeeded":"all"}}"#;
    server
        .request("PUT", "/v1/queues/delayed/settings", set)
        .json(200);
    let count = jobs();
    let line = format!(
        "submit --json --watch --count {count} --within 5s --url {}",
        server.url()
    );
    let submitted = sandbox.run(&line).ok().json();
    assert_eq!(submitted["submitted"], count);
    // Measured from the requested due times, not the stored ones.
    assert_eq!(submitted["lateness_ms"]["early"], 0, "{submitted}");
    submitted
}

/// Waits until all jobs have finished, then checks that each ran once and never early.
#[expect(clippy::print_stdout, reason = "lateness is reported, not asserted")]
fn check(server: &TestServer, submitted: &Value, runs: &str, who: &str) {
    let ids = submitted["ids"].as_array().unwrap();
    let count = ids.len();
    for id in ids {
        let id = id.as_str().unwrap();
        let path = format!("/v1/queues/delayed/jobs/{id}/wait?timeout=50s");
        let ended = server.request("GET", &path, "").json(200);
        assert_eq!(ended["state"], "succeeded", "{ended}");
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    let runs = std::fs::read_to_string(runs).unwrap();
    for id in runs.lines() {
        *times.entry(id).or_default() += 1;
    }
    let out = server.request("GET", "/v1/queues/delayed/jobs/export", "");
    let mut late: Vec<i128> = Vec::new();
    for line in String::from_utf8(out.body).unwrap().lines() {
        let job: Value = serde_json::from_str(line).unwrap();
        let ms = |field: &str| {
            let at = windlass_api::timestamp::parse(job[field].as_str().unwrap()).unwrap();
            i128::from(at.as_ms())
        };
        late.push(ms("started_at") - ms("due_at"));
        assert_eq!(times.remove(job["id"].as_str().unwrap()), Some(1), "{line}");
    }
    assert!(times.is_empty(), "{times:?}");
    late.sort_unstable();
    assert_eq!(late.len(), count);
    assert!(late[0] >= 0, "one ran {} ms early", -late[0]);
    let at = |percent: usize| late[(count * percent / 100).min(count - 1)];
    let (p50, p99, max) = (at(50), at(99), at(100));
    println!("{count} jobs by {who}: late by {p50} ms (p50), {p99} ms (p99), {max} ms (max)");
}

/// A worker process. Killed when dropped.
struct WorkerProcess(Child);

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_command_runs_jobs_when_they_are_due() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let runs = sandbox.path("runs").display().to_string();
    let script = format!(r#"echo "$WINDLASS_JOB_ID" >> {runs}"#);
    let arguments = [
        "exec", "--queue", "delayed", "-j", "8", "--", "sh", "-c", &script,
    ];
    let _worker = WorkerProcess(sandbox.command(&arguments).spawn().unwrap());

    let submitted = submit(&sandbox, &server);

    check(&server, &submitted, &runs, "exec");
}

#[test]
fn the_pull_worker_of_the_page_runs_jobs_when_they_are_due() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let runs = sandbox.path("runs").display().to_string();
    let changes = [(LEASE, SHORT_LEASE)];
    let mut worker = PullWorker::start(&sandbox, &server.url(), "delayed", &changes);

    let submitted = submit(&sandbox, &server);

    check(&server, &submitted, &runs, "a pull worker");
    assert!(worker.stop_by_command(&server).success());
}

#[test]
fn a_burst_uses_the_variables_of_the_older_system_and_reports_lateness() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let arguments = ["exec", "--queue", "delayed", "-j", "4", "--", "true"];
    let _worker = WorkerProcess(sandbox.command(&arguments).spawn().unwrap());

    let ran = sandbox
        .command(&["submit", "--json", "--watch"])
        .env("JOB_COUNT", "5")
        .env("TIME_OFFSET_SEC", "4")
        .env("API_ENDPOINT", server.url())
        .output()
        .unwrap();

    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["submitted"], 5, "{report}");
    assert_eq!(report["lateness_ms"]["early"], 0, "{report}");
    let stats = server.request("GET", "/v1/queues/delayed", "").json(200);
    assert_eq!(stats["total"]["enqueued"], 5);
}

#[test]
fn a_burst_goes_into_the_store_without_a_server() {
    let sandbox = Sandbox::new();
    let report = sandbox
        .run("submit --json --count 7 --within 1h --queue later")
        .ok()
        .json();
    assert_eq!(report["ids"].as_array().unwrap().len(), 7);
    let stats = sandbox.run("queue stats later --json").ok().json();
    assert_eq!(stats["scheduled"], 7);
    let unreachable = sandbox
        .run("submit --json --count 1 --url http://127.0.0.1:1")
        .exits(69);
    assert!(
        unreachable.error()["help"]
            .as_str()
            .unwrap()
            .contains("serve")
    );
}
