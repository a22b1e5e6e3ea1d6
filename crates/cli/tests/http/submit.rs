//! `windlass submit`: jobs it cannot watch, and invalid bursts.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::server::TestServer;

#[test]
fn jobs_that_went_to_another_queue_are_not_reported_as_run() {
    let sandbox = Sandbox::new();
    let line = "serve --listen 127.0.0.1:0 --delayed-queue later";
    let server = TestServer::start(&sandbox, line, |_| {});
    let burst = format!(
        "submit --json --watch --count 3 --within 1h --url {}",
        server.url()
    );

    let ran = sandbox.run(&burst).exits(3);

    assert_eq!(ran.error()["code"], "not_found");
    let help = ran.error()["help"].as_str().unwrap().to_owned();
    assert!(help.contains("--queue"), "{help}");
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    let stats = server.request("GET", "/v1/queues/later", "").json(200);
    assert_eq!(stats["scheduled"], 3);
}

/// Returns the lateness report of a burst of two whose jobs are cancelled while it is watched.
fn watched_and_cancelled(sandbox: &Sandbox, more: &str) -> Value {
    let line = format!("submit --json --watch --count 2 --within 1h --queue q {more}");
    let watching = sandbox.start(&line);
    let mut cancelled = 0;
    while cancelled < 2 {
        let counts = sandbox.run("job cancel q --all --json");
        // The queue and its store may not exist yet.
        if counts.code == Some(0) {
            cancelled += counts.json()["done"].as_u64().unwrap();
        }
    }
    let ran = watching.wait_with_output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    report["lateness_ms"].clone()
}

#[test]
fn jobs_that_are_cancelled_before_they_are_due_never_ran_and_are_not_early() {
    let sandbox = Sandbox::new();
    let server = TestServer::new(&sandbox);
    let never_ran = json!({"p50": 0, "p99": 0, "max": 0, "early": 0, "never_ran": 2});

    let over_http = watched_and_cancelled(&sandbox, &format!("--url {}", server.url()));
    let in_store = watched_and_cancelled(&sandbox, "");

    assert_eq!((&over_http, &in_store), (&never_ran, &never_ran));
}

#[test]
fn a_burst_that_is_too_large_is_rejected() {
    let sandbox = Sandbox::new();
    for count in ["18446744073709551615", "1000001", "-1", "many", ""] {
        let ran = sandbox
            .run_words(&["submit", "--json", "--count", count])
            .exits(2);
        let help = ran.error()["help"].as_str().unwrap().to_owned();
        assert!(help.contains("1000000"), "{help}");
    }
    assert!(!sandbox.has_store());
}

#[test]
fn an_invalid_queue_name_is_rejected_before_connecting() {
    let sandbox = Sandbox::new();
    for line in [
        "submit --json --queue a/b --url http://127.0.0.1:1",
        "submit --json --queue a/b",
    ] {
        let message = sandbox.run(line).exits(2).error()["message"].clone();
        assert!(message.as_str().unwrap().contains("queue"), "{message}");
    }
    assert!(!sandbox.has_store());
}
