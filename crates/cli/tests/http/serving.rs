//! Starting and stopping, and `windlass up`.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::redis::until;

use crate::sandbox::Sandbox;
use crate::server::TestServer;

/// Enqueues the job `a` and returns its result once it has succeeded.
fn result_of(server: &TestServer, job: &str) -> Value {
    server.request("POST", "/v1/queues/q/jobs", job).json(201);
    let path = "/v1/queues/q/jobs/a/wait?timeout=60s";
    let ended = server.request("GET", path, "").json(200);
    assert_eq!(ended["state"], "succeeded", "{ended}");
    ended["result"].clone()
}

#[test]
fn a_server_exits_cleanly_on_sigterm() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    assert_eq!(server.request("GET", "/readyz", "").status, 200);

    let (code, _) = server.terminate();

    assert_eq!(code, Some(0));
}

#[test]
fn a_server_fires_schedules_without_a_worker() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let put = r#"{"every":"1s","overlap":"allow"}"#;
    server
        .request("PUT", "/v1/queues/q/schedules/s", put)
        .json(200);
    // In another process, and in a queue that the server knows by then.
    sandbox
        .run("schedules put q other --every 1s --overlap allow x")
        .ok();
    sandbox.run("queue pause idle").ok();
    sandbox
        .run("schedules put idle third --every 1s --overlap allow x")
        .ok();

    for (queue, name) in [("q", "s"), ("q", "other"), ("idle", "third")] {
        assert_fires(&server, queue, name);
    }
}

/// Waits until a schedule has fired.
fn assert_fires(server: &TestServer, queue: &str, name: &str) {
    let path = &format!("/v1/queues/{queue}/schedules/{name}");
    let fired = until("no instant fired", || {
        let schedule = server.request("GET", path, "").json(200);
        let has_fired = schedule["fired"].as_u64() > Some(0);
        if has_fired {
            Ok(schedule)
        } else {
            Err(schedule.to_string())
        }
    });

    let job = fired["history"][0]["job"].as_str().unwrap();
    assert!(job.starts_with(&format!("{name}@20")), "{fired}");
}

#[test]
fn an_address_in_use_is_reported_with_what_to_do() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);

    let second = sandbox
        .run(&format!("serve --json --listen {}", server.address))
        .exits(2);

    let error = second.error();
    assert!(
        error["help"].as_str().unwrap().contains("--listen"),
        "{error}"
    );
}

#[test]
fn up_serves_maintains_and_works() {
    let sandbox = Sandbox::new();
    let words = [
        "up",
        "--listen",
        "127.0.0.1:0",
        "--queue",
        "q",
        "-j",
        "2",
        "--",
        "tr",
        "a-z",
        "A-Z",
    ];
    let server = TestServer::start_arguments(&sandbox, &words, |_| {});
    server
        .request(
            "PUT",
            "/v1/queues/q/settings",
            r#"{"settings":{"keep_succeeded":"all"}}"#,
        )
        .json(200);

    let result = result_of(&server, r#"{"id":"a","payload":"hello"}"#);

    assert_eq!(result, "HELLO");
    // No worker claims from this queue, so maintenance has to promote the job.
    server
        .request(
            "POST",
            "/v1/queues/idle/jobs",
            r#"{"payload":"x","delay":"50ms"}"#,
        )
        .json(201);
    let started = Instant::now();
    while server.request("GET", "/v1/queues/idle", "").json(200)["ready"] != 1 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the job was not promoted"
        );
    }
    let (code, summary) = server.terminate();
    assert_eq!(code, Some(0));
    assert!(summary.contains("1 succeeded"), "{summary}");
}

#[test]
fn up_without_a_command_only_serves_and_an_incomplete_worker_is_rejected() {
    let sandbox = Sandbox::new();
    let server = TestServer::start(&sandbox, "up --listen 127.0.0.1:0 --role follower", |_| {});
    assert_eq!(server.request("GET", "/healthz", "").status, 200);
    assert_eq!(server.terminate().0, Some(0));
    sandbox.run("up --listen 127.0.0.1:0 --queue q").exits(2);
    sandbox.run("up --listen 127.0.0.1:0 -- true").exits(2);
    for flag in ["-j 2", "--lease 1m", "--grace 1m", "--env A", "--shell"] {
        let ran = sandbox.run(&format!("up --listen 127.0.0.1:0 {flag}"));
        assert!(ran.exits(2).stderr.contains("--queue"), "{flag}");
    }
}

#[test]
fn up_runs_a_command_with_the_flags_of_exec() {
    let sandbox = Sandbox::new();
    let line = "up --listen 127.0.0.1:0 --queue q --lease 1m --grace 1m --kill-after 1m --timeout 1m \
        --env GREETING=hello --stdin none --result last-line --on-exit 3=done --shell --";
    let words: Vec<&str> = line.split_whitespace().collect();
    let script = "echo first; echo $GREETING; exit 3";
    let server = TestServer::start_arguments(&sandbox, &[&words[..], &[script]].concat(), |_| {});

    let result = result_of(&server, r#"{"id":"a","unique_key":"k"}"#);

    assert_eq!(result, "hello");
}
