//! The worker in Python that docs/http.md shows: it fails jobs, keeps its lease, survives a restart of the
//! server, sends its token, and stops cleanly.

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::redis::until;

use crate::sandbox::Sandbox;
use crate::server::TestServer;

/// The page whose worker is run here.
const PAGE: &str = include_str!("../../../../docs/http.md");

/// The work of the page, and work that waits for a file.
const WORK: &str = "    print(job[\"id\"], flush=True)\n";
const WAITING_WORK: &str = "    open(f\"{job['id']}.started\", \"w\").close()\n    \
    while not os.path.exists(\"go\"):\n        time.sleep(0.01)\n";

/// The lease of the page, and one that a test can wait for.
pub(crate) const LEASE: &str = "LEASE = 30 ";
pub(crate) const SHORT_LEASE: &str = "LEASE = 4 ";
const SHORT_LEASE_TIME: Duration = Duration::from_secs(4);

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The worker, as a process. It prints into the file `runs`. Killed when dropped.
pub(crate) struct PullWorker(Child);

impl Drop for PullWorker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl PullWorker {
    /// Starts the worker of the page with some of its text replaced.
    pub(crate) fn start(
        sandbox: &Sandbox,
        url: &str,
        queue: &str,
        changes: &[(&str, &str)],
    ) -> Self {
        let code = PAGE.split("```python\n").nth(1).unwrap();
        let mut code = code.split("```").next().unwrap().to_owned();
        for (shown, used) in changes {
            assert!(code.contains(shown), "{shown}");
            code = code.replace(shown, used);
        }
        let file = sandbox.path("worker.py");
        std::fs::write(&file, code).unwrap();
        let python = Command::new("python3")
            .arg(&file)
            .args([url, queue])
            .current_dir(sandbox.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("WINDLASS_HTTP_TOKEN", TOKEN)
            .stdout(File::create(sandbox.path("runs")).unwrap())
            .stderr(Stdio::inherit())
            .spawn();
        let why = "this test needs python3: install it with `apt-get install python3`";
        Self(python.expect(why))
    }

    fn signal(&self) {
        let id = self.0.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Stops the worker with its next heartbeat.
    pub(crate) fn stop_by_command(&mut self, server: &TestServer) -> ExitStatus {
        let workers = server.request("GET", "/v1/workers", "").json(200);
        let path = format!("/v1/workers/{}/command", workers[0]["id"].as_str().unwrap());
        let stop = r#"{"command":"stop"}"#;
        server.request("POST", &path, stop).json(200);
        self.0.wait().unwrap()
    }
}

fn wait_for(sandbox: &Sandbox, name: &str) {
    until(name, || {
        let is_there = sandbox.path(name).exists();
        is_there.then_some(()).ok_or("missing".to_owned())
    });
}

/// Waits until a job has ended, and returns it.
fn ended(sandbox: &Sandbox, id: &str) -> Value {
    let line = format!("job wait mail {id} --timeout 60s --json");
    sandbox.run(&line).json()
}

#[test]
fn an_exception_is_a_failed_attempt_and_the_next_job_runs() {
    let sandbox = Sandbox::new();
    let server = TestServer::start(&sandbox, "serve --listen 127.0.0.1:0", |command| {
        command.env("WINDLASS_HTTP_TOKEN", TOKEN);
    });
    // Bytes that are not text have no field `payload`, so the work raises a KeyError.
    let enqueue = "enqueue mail - --max-attempts 1 --id bad";
    sandbox.feed(enqueue, b"\xff\xfe").ok();
    sandbox.run("enqueue mail hello --id good").ok();

    let _worker = PullWorker::start(&sandbox, &server.url(), "mail", &[]);

    let (bad, good) = (ended(&sandbox, "bad"), ended(&sandbox, "good"));
    assert_eq!(
        (&bad["state"], &bad["attempt"]),
        (&"dead".into(), &1.into()),
        "{bad}"
    );
    assert!(bad["error"].as_str().unwrap().contains("KeyError"), "{bad}");
    assert_eq!(good["result"], "HELLO", "{good}");
}

#[test]
fn a_job_that_runs_for_longer_than_its_lease_keeps_it() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    sandbox.run("enqueue mail hello --id long").ok();
    let changes = [(WORK, WAITING_WORK), (LEASE, SHORT_LEASE)];
    let _worker = PullWorker::start(&sandbox, &server.url(), "mail", &changes);
    wait_for(&sandbox, "long.started");

    let started = Instant::now();
    while started.elapsed() < SHORT_LEASE_TIME.mul_f64(1.5) {
        let claimed = sandbox.run("claim mail --wait 500ms --json").ok().json();
        assert_eq!(claimed, Value::Array(Vec::new()), "the lease was lost");
    }

    File::create(sandbox.path("go")).unwrap();
    let job = ended(&sandbox, "long");
    assert_eq!(
        (&job["result"], &job["expiries"]),
        (&"HELLO".into(), &0.into())
    );
}

#[test]
fn a_restart_of_the_server_costs_no_job_and_no_attempt() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let (address, url) = (server.address.clone(), server.url());
    sandbox.run("enqueue mail hello --id during").ok();
    let _worker = PullWorker::start(&sandbox, &url, "mail", &[(WORK, WAITING_WORK)]);
    wait_for(&sandbox, "during.started");

    assert_eq!(server.terminate().0, Some(0));
    // The work ends, and another job arrives, while there is no server.
    File::create(sandbox.path("go")).unwrap();
    sandbox.run("enqueue mail hello --id after").ok();
    let line = format!("serve --listen {address}");
    let _server = TestServer::start(&sandbox, &line, |_| {});

    for id in ["during", "after"] {
        let job = ended(&sandbox, id);
        assert_eq!(job["result"], "HELLO", "{job}");
        assert_eq!(
            (&job["attempt"], &job["expiries"]),
            (&1.into(), &0.into()),
            "{job}"
        );
    }
}

#[test]
fn sigterm_lets_the_job_finish_and_deregisters_the_worker() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    sandbox.run("enqueue mail hello --id last").ok();
    let mut worker = PullWorker::start(&sandbox, &server.url(), "mail", &[(WORK, WAITING_WORK)]);
    wait_for(&sandbox, "last.started");

    worker.signal();
    File::create(sandbox.path("go")).unwrap();

    assert!(worker.0.wait().unwrap().success());
    assert_eq!(ended(&sandbox, "last")["result"], "HELLO");
    let workers = server.request("GET", "/v1/workers", "").json(200);
    assert_eq!(workers, Value::Array(Vec::new()));
}

#[test]
fn sigterm_ends_a_worker_whose_server_is_gone() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    sandbox.run("enqueue mail hello --id one").ok();
    let mut worker = PullWorker::start(&sandbox, &server.url(), "mail", &[]);
    assert_eq!(ended(&sandbox, "one")["result"], "HELLO");
    assert_eq!(server.terminate().0, Some(0));

    worker.signal();

    assert!(worker.0.wait().unwrap().success());
}
