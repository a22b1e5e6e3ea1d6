//! A trace follows a job from its enqueue to its attempt, in other processes, and reaches a collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::sandbox::{Ran, Sandbox};
use crate::server::TestServer;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector that accepts OTLP over HTTP as JSON.
struct Collector {
    endpoint: String,
    received: Receiver<(String, Value)>,
}

/// A certificate or key for `127.0.0.1`, shared with the tests of Redis.
fn tls_file(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../redis-link/tests/tls");
    format!("{folder}/{name}")
}

impl Collector {
    fn start() -> Self {
        Self::start_with("http", receive)
    }

    fn start_with_tls() -> Self {
        let chain = CertificateDer::pem_file_iter(tls_file("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(tls_file("server.key")).unwrap();
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(ring)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain.map(Result::unwrap).collect(), key);
        let config = Arc::new(config.unwrap());
        Self::start_with("https", move |stream, sender| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            receive(StreamOwned::new(connection, stream), sender);
        })
    }

    fn start_with(
        scheme: &str,
        receive: impl Fn(TcpStream, &Sender<(String, Value)>) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("{scheme}://{}", listener.local_addr().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                receive(stream.unwrap(), &sender);
            }
        });
        Self { endpoint, received }
    }

    /// The next request to a path.
    fn next(&self, path: &str) -> Value {
        loop {
            let timeout = Duration::from_secs(60);
            let (found, body) = self.received.recv_timeout(timeout).unwrap();
            if found == path {
                return body;
            }
        }
    }

    /// The only span of the next request with spans.
    fn span(&self) -> Value {
        let body = self.next("/v1/traces");
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        assert_eq!(spans.as_array().unwrap().len(), 1, "{body}");
        spans[0].clone()
    }
}

fn receive(stream: impl Read + Write, sender: &Sender<(String, Value)>) {
    let mut reader = BufReader::new(stream);
    let (mut request, mut bytes) = (String::new(), 0);
    if reader.read_line(&mut request).is_err() {
        return; // the client does not trust the certificate
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(length) = line.to_lowercase().strip_prefix("content-length:") {
            bytes = length.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; bytes];
    reader.read_exact(&mut body).unwrap();
    let path = request.split(' ').nth(1).unwrap().to_owned();
    let _ = sender.send((path, serde_json::from_slice(&body).unwrap()));
    reader
        .get_mut()
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        .unwrap();
}

fn run(sandbox: &Sandbox, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = sandbox.command(words);
    command.env_remove("TRACEPARENT");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    Ran::from(output).ok()
}

/// Runs the jobs of a queue with a command that prints its trace.
fn exec(sandbox: &Sandbox, queue: &str, variables: &[(&str, &str)]) {
    let command = ["sh", "-c", "printf %s \"$TRACEPARENT\""];
    let words = [&["exec", "--queue", queue, "--burst", "--"], &command[..]].concat();
    run(sandbox, &words, variables);
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a str {
    let mut attributes = span["attributes"].as_array().unwrap().iter();
    let found = attributes.find(|attribute| attribute["key"] == key);
    found.unwrap()["value"]["stringValue"].as_str().unwrap()
}

#[test]
fn a_collector_gets_one_trace_from_the_enqueue_to_the_attempt_in_another_process() {
    let sandbox = Sandbox::new();
    let collector = Collector::start();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str());

    let words = ["enqueue", "mail", "x", "--id", "a", "--kind", "letter"];
    run(&sandbox, &words, &[endpoint]);
    let enqueue = collector.span();
    run(
        &sandbox,
        &["queue", "set", "mail", "keep_succeeded=all"],
        &[],
    );
    exec(&sandbox, "mail", &[endpoint]);
    let attempt = collector.span();

    assert_eq!(enqueue["name"], "enqueue mail");
    assert_eq!(enqueue["kind"], 4, "producer");
    assert!(enqueue.get("parentSpanId").is_none(), "{enqueue}");
    assert_eq!(attempt["name"], "attempt mail");
    assert_eq!(attempt["kind"], 5, "consumer");
    assert_eq!(attempt["traceId"], enqueue["traceId"]);
    assert_eq!(attempt["parentSpanId"], enqueue["spanId"]);
    assert_eq!(attribute(&attempt, "windlass.outcome"), "done");
    assert_eq!(attribute(&attempt, "windlass.kind"), "letter");
    assert_eq!(attribute(&attempt, "messaging.message.id"), "a");
    // The command records its own spans below the attempt.
    let job = sandbox.run("job get mail a --json").ok().json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let own = format!(
        "00-{}-{}-01",
        text(&attempt["traceId"]),
        text(&attempt["spanId"])
    );
    assert_eq!(job["result"], own);

    let metrics = collector.next("/v1/metrics");
    let metrics = &metrics["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let mut metrics = metrics.as_array().unwrap().iter();
    let attempts = metrics.find(|metric| metric["name"] == "windlass_attempts_total");
    let points = attempts.unwrap()["sum"]["dataPoints"].as_array().unwrap();
    let sum: u64 = points
        .iter()
        .map(|point| text(&point["asInt"]).parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, 1);
}

#[test]
fn a_collector_with_tls_is_used_if_its_certificate_is_trusted() {
    let sandbox = Sandbox::new();
    let collector = Collector::start_with_tls();
    let endpoint = format!("{}/base/", collector.endpoint);
    let enqueue = |ca: &str| {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", &tls_file(ca)),
        ];
        run(&sandbox, &["enqueue", "mail", "x"], &variables).stderr
    };

    let refused = enqueue("stranger.pem");
    assert!(refused.contains("cannot send telemetry"), "{refused}");
    let missing = enqueue("missing.pem");
    assert!(missing.contains("missing.pem"), "{missing}");
    let accepted = enqueue("ca.pem");
    assert!(!accepted.contains("telemetry"), "{accepted}");

    let spans = collector.next("/base/v1/traces");
    let name = &spans["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"];
    assert_eq!(name, "enqueue mail");
    assert!(
        collector
            .received
            .try_iter()
            .all(|(path, _)| path != "/base/v1/traces")
    );
}

#[test]
fn a_failed_attempt_is_an_error_in_its_trace() {
    let sandbox = Sandbox::new();
    let collector = Collector::start();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint.as_str());
    run(
        &sandbox,
        &["enqueue", "mail", "x", "--max-attempts", "1"],
        &[],
    );

    let words = ["exec", "--queue", "mail", "--burst", "--", "false"];
    run(&sandbox, &words, &[endpoint]);

    let attempt = collector.span();
    assert_eq!(attempt["status"]["code"], 2, "{attempt}");
    assert!(attempt.get("parentSpanId").is_none(), "a new trace");
}

#[test]
fn a_trace_is_carried_without_a_collector_too() {
    let sandbox = Sandbox::new();
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let server = TestServer::new(&sandbox);
    run(
        &sandbox,
        &["queue", "set", "mail", "keep_succeeded=all"],
        &[],
    );

    run(
        &sandbox,
        &["enqueue", "mail", "x", "--id", "cli"],
        &[("TRACEPARENT", &parent)],
    );
    let invalid = [("TRACEPARENT", "00-zz")];
    run(
        &sandbox,
        &["enqueue", "mail", "x", "--id", "invalid"],
        &invalid,
    );
    run(&sandbox, &["enqueue", "mail", "x", "--id", "none"], &[]);
    let headers =
        format!("content-type: application/json\r\ntraceparent: {parent}\r\ntracestate: a=b");
    let post = |path: &str, body: &str| {
        let path = format!("/v1/queues/mail/jobs{path}");
        let reply = server.request_with("POST", &path, &headers, body.as_bytes());
        assert!(reply.status < 300, "{}", reply.head);
    };
    post("", r#"{"id":"http","payload":"x"}"#);
    post(
        "",
        r#"{"id":"own","payload":"x","headers":{"Traceparent":"mine"}}"#,
    );
    post("/batch", r#"{"jobs":[{"id":"batch","payload":"x"}]}"#);
    exec(&sandbox, "mail", &[]);

    let job = |id: &str| {
        sandbox
            .run(&format!("job get mail {id} --json"))
            .ok()
            .json()
    };
    for id in ["cli", "http", "batch"] {
        assert_eq!(job(id)["result"], parent, "{id}");
    }
    assert_eq!(job("http")["headers"]["tracestate"], "a=b");
    assert_eq!(job("own")["headers"]["traceparent"], "mine");
    for id in ["invalid", "none"] {
        assert_eq!(
            job(id)["headers"].as_object().map_or(0, |all| all.len()),
            0,
            "{id}"
        );
    }
}

#[test]
fn a_collector_that_is_away_delays_no_jobs_and_is_reported_once() {
    let sandbox = Sandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);

    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())];
    let ran = run(&sandbox, &["enqueue", "mail", "x"], &variables);

    let reports = ran.stderr.matches("cannot send telemetry").count();
    assert_eq!(reports, 1, "{}", ran.stderr);
}
