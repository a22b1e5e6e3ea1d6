//! What servers log on stderr.

use std::io::{BufRead, BufReader, Read};

use crate::sandbox::Sandbox;
use crate::server::TestServer;
use crate::test_store::TestStore;

const TOKEN: &str = "canary-s3cr3t-0123456789abcdef0123456789abcdef";

/// Stops the server and returns its log.
fn log_of(mut server: TestServer) -> String {
    let mut stderr = server.child.stderr.take().unwrap();
    server.terminate();
    let mut log = String::new();
    stderr.read_to_string(&mut log).unwrap();
    log
}

/// Starts a server, sends requests with a token and with a wrong one, and returns the log.
fn log_of_requests(flags: &str) -> String {
    let sandbox = Sandbox::new();
    let line = format!("serve --listen 127.0.0.1:0 {flags}");
    let server = TestServer::start(&sandbox, &line, |command| {
        command.env("WINDLASS_HTTP_TOKEN", TOKEN);
    });
    for (token, status) in [(TOKEN, 200), ("canary-s3cr3t-wrong", 401)] {
        let headers = format!("authorization: Bearer {token}");
        let path = "/v1/queues?ticket=s3cr3t";
        let response = server.request_with("GET", path, &headers, b"");
        assert_eq!(response.status, status, "{}", response.head);
    }
    server.request("GET", "/healthz", "");
    log_of(server)
}

#[test]
fn a_server_logs_its_start_and_its_stop() {
    let log = log_of_requests("");

    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    let started = format!(
        "server started (Ctrl-C to stop) version={} store=sqlite:windlass.db url=http://127.0.0.1:",
        env!("CARGO_PKG_VERSION")
    );
    assert!(lines[0].contains(&started), "{log}");
    assert!(lines[1].ends_with("Z server stopped"), "{log}");
}

#[test]
fn a_verbose_server_logs_requests_with_the_name_of_the_token_and_never_the_token() {
    let log = log_of_requests("-v");

    let has = |start: &str, end: &str| {
        let mut lines = log.lines();
        lines.any(|line| line.contains(start) && line.ends_with(end))
    };
    assert!(
        has("GET /v1/queues 200 took=", "caller=env address=127.0.0.1"),
        "{log}"
    );
    assert!(
        has("GET /v1/queues 401 took=", "ms address=127.0.0.1"),
        "{log}"
    );
    assert!(has("GET /healthz 200 took=", "address=127.0.0.1"), "{log}");
    assert!(!log.contains("s3cr3t"), "{log}");
}

#[test]
fn a_server_logs_when_its_store_is_away_and_when_it_is_back() {
    for line in ["serve", "up", "up --role follower"] {
        let sandbox = Sandbox::on(TestStore::redis());
        let line = format!("{line} --listen 127.0.0.1:0");
        let mut server = TestServer::start(&sandbox, &line, |_| {});
        let mut log = BufReader::new(server.child.stderr.take().unwrap()).lines();
        let mut next = || log.next().unwrap().unwrap();
        assert!(next().contains("server started"), "{line}");

        sandbox.store.server().kill();
        let lost = next();
        assert!(
            lost.contains("cannot reach the store, retrying: "),
            "{line}: {lost}"
        );
        sandbox.store.server().restart();
        let mut back = next();
        if back.starts_with("  help: ") {
            back = next();
        }
        assert!(back.contains("the store is back"), "{line}: {back}");

        assert_eq!(server.terminate().0, Some(0), "{line}");
    }
}
