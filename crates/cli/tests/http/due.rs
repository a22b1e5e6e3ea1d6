//! Jobs with due times, put in over HTTP and worked off by any program: each once, never early.

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::server::Served;
use crate::sandbox::Sandbox;

/// The page whose pull worker is run here, so that it stays true.
const PAGE: &str = include_str!("../../../../docs/http.md");

/// How many jobs each run has; the whole promise is 1000.
fn jobs() -> usize {
    let said = std::env::var("WINDLASS_DUE_JOBS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn submit(sandbox: &Sandbox, served: &Served) -> Value {
    let set = r#"{"settings":{"keep_succeeded":"all"}}"#;
    served
        .ask("PUT", "/v1/queues/delayed/settings", set)
        .json(200);
    let count = jobs();
    let line = format!(
        "submit --json --watch --count {count} --within 5s --url {}",
        served.url()
    );
    let submitted = sandbox.run(&line).ok().json();
    assert_eq!(submitted["submitted"], count);
    // By the due times that were asked for, not those that were stored.
    assert_eq!(submitted["lateness_ms"]["early"], 0, "{submitted}");
    submitted
}

/// Waits until all have ended, then holds them to the promise: each once, never early.
#[expect(
    clippy::print_stdout,
    reason = "how late they were is a figure, not a promise"
)]
fn judge(served: &Served, submitted: &Value, runs: &str, who: &str) {
    let ids = submitted["ids"].as_array().unwrap();
    let count = ids.len();
    for id in ids {
        let id = id.as_str().unwrap();
        let path = format!("/v1/queues/delayed/jobs/{id}/wait?timeout=50s");
        let ended = served.ask("GET", &path, "").json(200);
        assert_eq!(ended["state"], "succeeded", "{ended}");
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    let runs = std::fs::read_to_string(runs).unwrap();
    for id in runs.lines() {
        *times.entry(id).or_default() += 1;
    }
    let out = served.ask("GET", "/v1/queues/delayed/jobs/export", "");
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
    println!("{count} jobs by {who}: late by {p50} ms (p50), {p99} ms (p99), {max} ms (most)");
}

/// A worker; it is killed when the test ends.
struct Working(Child);

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_command_works_off_jobs_when_they_are_due() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let runs = sandbox.path("runs").display().to_string();
    let script = format!(r#"echo "$WINDLASS_JOB_ID" >> {runs}"#);
    let words = [
        "exec", "--queue", "delayed", "-j", "8", "--", "sh", "-c", &script,
    ];
    let _worker = Working(sandbox.command(&words).spawn().unwrap());

    let submitted = submit(&sandbox, &served);

    judge(&served, &submitted, &runs, "exec");
}

#[test]
fn a_pull_worker_in_a_few_lines_of_python_works_off_jobs_when_they_are_due() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let code = PAGE
        .split("```python\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(code.lines().count() <= 20, "the page says 20 lines");
    let (file, runs) = (sandbox.path("worker.py"), sandbox.path("runs"));
    std::fs::write(&file, code).unwrap();
    let python = Command::new("python3")
        .arg(&file)
        .args([&served.url(), "delayed"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .stdout(std::fs::File::create(&runs).unwrap())
        .stderr(Stdio::inherit())
        .spawn();
    let why = "this test needs python3: install it with `apt-get install python3`";
    let mut python = Working(python.expect(why));

    let submitted = submit(&sandbox, &served);

    judge(
        &served,
        &submitted,
        &runs.display().to_string(),
        "a pull worker",
    );
    let workers = served.ask("GET", "/v1/workers", "").json(200);
    let worker = workers[0]["id"].as_str().unwrap();
    served
        .ask(
            "POST",
            &format!("/v1/workers/{worker}/command"),
            r#"{"command":"stop"}"#,
        )
        .json(200);
    assert!(python.0.wait().unwrap().success());
}

#[test]
fn a_burst_goes_by_the_older_systems_variables_and_reports_lateness() {
    let sandbox = Sandbox::new();
    let served = Served::new(&sandbox);
    let words = ["exec", "--queue", "delayed", "-j", "4", "--", "true"];
    let _worker = Working(sandbox.command(&words).spawn().unwrap());

    let ran = sandbox
        .command(&["submit", "--json", "--watch"])
        .env("JOB_COUNT", "5")
        .env("TIME_OFFSET_SEC", "4")
        .env("API_ENDPOINT", served.url())
        .output()
        .unwrap();

    let said: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(said["submitted"], 5, "{said}");
    assert_eq!(said["lateness_ms"]["early"], 0, "{said}");
    let stats = served.ask("GET", "/v1/queues/delayed", "").json(200);
    assert_eq!(stats["total"]["enqueued"], 5);
}

#[test]
fn a_burst_goes_into_the_store_without_a_server() {
    let sandbox = Sandbox::new();
    let said = sandbox
        .run("submit --json --count 7 --within 1h --queue later")
        .ok()
        .json();
    assert_eq!(said["ids"].as_array().unwrap().len(), 7);
    let stats = sandbox.run("queue stats later --json").ok().json();
    assert_eq!(stats["scheduled"], 7);
    let nobody = sandbox
        .run("submit --json --count 1 --url http://127.0.0.1:1")
        .exits(69);
    assert!(nobody.error()["help"].as_str().unwrap().contains("serve"));
}
