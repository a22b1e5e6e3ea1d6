//! Sends the examples to a server. `WINDLASS_SNAPSHOT=write` records what it replies.

use std::fmt::Write;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::SystemClock;
use windlass_store_memory::MemoryStore;

use super::*;
use crate::table::{Handler, api_routes};
use crate::{HttpClient, HttpServer, Options};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page/examples.txt");

/// What follows differs from run to run, or is too long to show.
const REST: char = '…';

/// Fields whose values differ from run to run.
const VARYING: [&str; 25] = [
    "first_seen",
    "last_seen",
    "ended_at",
    "minute",
    "at",
    "request",
    "token",
    "ticket",
    "lease_until",
    "created_at",
    "due_at",
    "started_at",
    "finished_at",
    "oldest_ms",
    "last_seen_ms",
    "last_seen_at",
    "version",
    "enqueued",
    "finished",
    "fired_at",
    "fires_at",
    "instant",
    "local",
    "next",
    "revision",
];

fn lines_of_json(text: &str) -> Option<Vec<Value>> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().ok()
}

/// Compares values. Tokens of the file are mapped to those of this run.
fn compare(name: &str, shown: &Value, sent: &Value, tokens: &mut Vec<(String, String)>) -> bool {
    if let (true, Value::String(shown), Value::String(sent)) = (name == "token", shown, sent) {
        tokens.push((shown.clone(), sent.clone()));
    }
    match (shown, sent) {
        (Value::Object(shown), Value::Object(sent)) => {
            let mut is_same = sent.len() == shown.len();
            for (name, sent) in sent {
                let shown = shown.get(name).unwrap_or(&Value::Null);
                is_same &= compare(name, shown, sent, tokens);
            }
            is_same
        }
        (Value::Array(shown), Value::Array(sent)) => {
            let mut is_same = sent.len() == shown.len();
            for (shown, sent) in shown.iter().zip(sent) {
                is_same &= compare(name, shown, sent, tokens);
            }
            is_same
        }
        _ => shown == sent || VARYING.contains(&name) && shown.is_null() == sent.is_null(),
    }
}

/// Returns whether the lines that are shown, up to the rest, start lines that were sent, in order.
fn is_shown(shown: &str, sent: &str) -> bool {
    let mut sent = sent.lines();
    shown.lines().all(|line| {
        let start = line.split(REST).next().unwrap_or_default();
        let start = if start.starts_with("id: ") {
            "id: "
        } else {
            start
        };
        sent.any(|sent| sent.starts_with(start))
    })
}

async fn send(client: &mut HttpClient, example: &Example, body: String) -> (String, String) {
    let mut request = Request::builder()
        .method(example.method)
        .uri(example.target);
    if !body.is_empty() {
        let media_type = if example.target.ends_with("/import") {
            "application/x-ndjson"
        } else {
            "application/json"
        };
        request = request.header("content-type", media_type);
    }
    let request = request.body(Body::from(body)).unwrap();
    if example.route().unwrap().op != "events" {
        let reply = client.send(request).await.unwrap();
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        return (reply.status.as_str().to_owned(), text);
    }
    // A stream does not end by itself.
    let response = client.send_streaming(request).await.unwrap();
    let status = response.status().as_str().to_owned();
    let mut stream = Body::new(response.into_body()).into_data_stream();
    let mut text = String::new();
    while !text.contains("data: {}") {
        text += std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap();
    }
    (status, text)
}

/// Writes an example as lines of the file.
fn record(file: &mut String, example: &Example, body: &str, status: &str, reply: &str) {
    writeln!(file, "> {} {}", example.method, example.target).unwrap();
    for line in body.lines() {
        writeln!(file, "> {line}").unwrap();
    }
    writeln!(file, "< {status}").unwrap();
    for line in reply.lines() {
        writeln!(file, "{}", format!("< {line}").trim_end()).unwrap();
    }
}

#[tokio::test]
async fn the_server_answers_the_examples_as_they_are_shown() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
    options.store_kind = "sqlite";
    let server = HttpServer::bind(store, options).await.unwrap();
    let (url, stop) = (server.url(), CancellationToken::new());
    tokio::spawn(server.run(stop.clone()));
    let is_recording = std::env::var_os("WINDLASS_SNAPSHOT").is_some();
    let (mut file, mut tokens) = (String::new(), Vec::new());
    for example in all() {
        let replace = |body: String, (shown, sent): &(String, String)| body.replace(shown, sent);
        let body = tokens.iter().fold(example.body.clone(), replace);
        let mut client = HttpClient::connect(&url).await.unwrap();
        let (status, reply) = send(&mut client, &example, body.clone()).await;

        let shown = lines_of_json(&example.reply);
        let is_same = match (&shown, lines_of_json(&reply)) {
            (Some(shown), Some(sent)) => {
                let (shown, sent) = (Value::from(shown.clone()), Value::from(sent));
                compare("", &shown, &sent, &mut tokens)
            }
            _ => is_shown(&example.reply, &reply),
        };
        if is_recording {
            let is_json = shown.is_some();
            let reply = if is_json { &reply } else { &example.reply };
            record(&mut file, &example, &body, &status, reply);
        } else {
            let what = format!("{} {}", example.method, example.target);
            let help =
                "record it: WINDLASS_SNAPSHOT=write cargo test -p windlass-server --lib example";
            assert_eq!(status, example.status, "{what}: {reply}");
            assert!(is_same, "{what} replies {reply}\n{help}");
        }
    }
    if is_recording {
        std::fs::write(FILE, file).unwrap();
    }
    stop.cancel();
}

#[test]
fn every_route_but_the_reference_has_an_example() {
    for (handler, route) in api_routes() {
        let example = of(route);
        let is_reference = handler == Handler::Docs;
        assert_eq!(example.is_none(), is_reference, "{route:?} {example:?}");
    }
    for example in all() {
        assert!(example.route().is_some(), "{example:?}");
    }
}

#[test]
fn an_example_is_parsed_line_by_line() {
    let parsed = parse("> POST /a\n> {}\n< 200\n< one\n<\n< two\n> GET /b\n< 404\n");
    assert_eq!(parsed.len(), 2);
    assert_eq!(parsed[0].body, "{}\n");
    assert_eq!(
        (parsed[0].status, &*parsed[0].reply),
        ("200", "one\n\ntwo\n")
    );
    assert_eq!((parsed[1].target, parsed[1].status), ("/b", "404"));
}
