//! Requests that are nested too deeply, too many, or from the wrong origin.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::{Fixture, LONG, TestClient, problem, tokens_of};

const JOBS: &str = "/v1/queues/q/jobs";

async fn error_of(fixture: &Fixture, request: Request<Body>) -> (u16, String) {
    let mut client = fixture.client().await;
    problem(&client.0.send(request).await.unwrap())
}

fn post(path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn hostile_json_is_rejected_and_the_server_keeps_running() {
    let fixture = Fixture::new().await;
    let deep = format!("{{\"payload\":{}", "[".repeat(1_000_000));
    let keys: String = (0..50_000).map(|n| format!("\"k{n}\":1,")).collect();
    // Valid JSON, but nested too deeply.
    let nested = format!("{{\"payload\":{}{}}}", "[".repeat(200), "]".repeat(200));
    for text in [
        deep.as_str(),
        nested.as_str(),
        &format!("{{{keys}\"z\":1}}"),
        r#"{"payload":1,"payload":2}"#,
        r#"{"priority":1e999}"#,
        r#"{"priority":18446744073709551616}"#,
        r#"{"kind":"\ud800"}"#,
        "{\"id\":\"a\0b\"}",
        r#"{"id":"a\u0000b"}"#,
        "{",
        "null",
    ] {
        let short: String = text.chars().take(60).collect();
        let found = error_of(&fixture, post(JOBS, &[JSON], text.to_owned())).await;
        assert_eq!(found, (400, "invalid".to_owned()), "{short}");
    }
    let bad_bytes = error_of(&fixture, post(JOBS, &[JSON], vec![b'{', 0xff, b'}'])).await;
    assert_eq!(bad_bytes.0, 400);
    assert_eq!(fixture.store.queues().await.unwrap(), []);
}

#[tokio::test]
async fn forms_compressed_bodies_and_other_sites_are_rejected() {
    let fixture = Fixture::new().await;
    for (headers, status) in [
        (
            &[("content-type", "application/x-www-form-urlencoded")][..],
            415,
        ),
        (&[("content-type", "text/plain")], 415),
        (&[], 415),
        (&[JSON, ("content-encoding", "gzip")], 415),
        (&[JSON, ("origin", "http://evil.example")], 403),
        (&[JSON, ("origin", "null")], 403),
        (&[JSON, ("sec-fetch-site", "cross-site")], 403),
        (&[JSON, ("sec-fetch-site", "same-site")], 403),
        (&[JSON, ("host", "evil.example")], 421),
    ] {
        let found = error_of(&fixture, post(JOBS, headers, "{}")).await;
        assert_eq!(found.0, status, "{headers:?}");
    }
    assert_eq!(fixture.store.queues().await.unwrap(), []);
    let mut client = fixture.client().await;
    let ours = post(JOBS, &[JSON, ("sec-fetch-site", "same-origin")], "{}");
    assert_eq!(client.0.send(ours).await.unwrap().status, 201);
}

#[tokio::test]
async fn no_get_changes_anything() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post(JOBS, json!({"id":"a","payload":"x"})).await;
    let before = client.get("/v1/queues/q/jobs/a").await.body;
    for (method, path, _) in windlass_server::routes() {
        if method == "GET" && path != "/v1/events" && !path.ends_with("/wait") {
            let path = path.replace("{queue}", "q").replace("{id}", "a");
            client.get(&path).await;
            client.send("HEAD", &path, Value::Null).await;
        }
    }
    assert_eq!(client.get("/v1/queues/q/jobs/a").await.body, before);
    assert_eq!(fixture.store.queues().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_request_over_the_limit_gets_503_and_health_checks_still_work() {
    let fixture = Fixture::with(|options| options.requests_max = 1).await;
    let (mut waiter, mut client) = (fixture.client().await, fixture.client().await);
    let waiting = tokio::spawn(async move {
        // Retries until it has the only slot.
        let claim = json!({"wait":"60s"});
        while waiter
            .post("/v1/queues/q/claim", claim.clone())
            .await
            .status
            == 503
        {}
    });
    let until = async |client: &mut TestClient, status: u16| {
        let polling = async {
            loop {
                let reply = client.get("/v1/queues").await;
                if reply.status == status {
                    return reply;
                }
            }
        };
        timeout(LONG, polling)
            .await
            .expect("a reply with this status")
    };

    let refused = until(&mut client, 503).await;
    let probe = client.get("/healthz").await;
    waiting.abort();
    until(&mut client, 200).await;

    assert_eq!(problem(&refused), (503, "overloaded".to_owned()));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(probe.status, 200);
}

#[tokio::test]
async fn a_connection_over_the_limit_gets_503_and_the_others_continue() {
    let fixture = Fixture::with(|options| options.connections_max = 2).await;
    let (mut one, mut two) = (fixture.client().await, fixture.client().await);
    // A connection with only health checks would make room for the third.
    assert_eq!(one.get("/v1/queues").await.status, 200);
    assert_eq!(two.get("/v1/queues").await.status, 200);
    let mut third = TcpStream::connect(fixture.address()).await.unwrap();
    let mut response = String::new();

    let _ = third.read_to_string(&mut response).await;

    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert_eq!(one.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn half_sent_requests_on_all_connections_lock_nobody_out() {
    let fixture = Fixture::with(|options| {
        options.tokens = tokens_of(&[("ann", "read", "*")]);
        options.connections_max = 32;
        // No half-sent request times out during the test.
        options.timeouts.header = LONG * 2;
    })
    .await;
    let mut known = fixture.client().await;
    assert_eq!(known.send_as("ann", "GET", "/v1/queues").await.status, 200);
    let mut half_sent = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: local").await;
        half_sent.push(stream);
    }

    for _ in 0..10 {
        let mut probe = fixture.client().await;
        assert_eq!(probe.get("/healthz").await.status, 200);
        let mut client = fixture.client().await;
        let reply = client.send_as("ann", "GET", "/v1/queues").await;
        assert_eq!(reply.status, 200);
    }
    assert_eq!(known.send_as("ann", "GET", "/v1/queues").await.status, 200);
    let closing = async {
        loop {
            let metrics = known.send_as("ann", "GET", "/metrics").await;
            let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
            let mut lines = metrics.lines();
            let open = lines.find_map(|line| line.strip_prefix("windlass_http_connections "));
            if open.unwrap().parse::<usize>().unwrap() <= 32 {
                return;
            }
        }
    };
    assert!(timeout(LONG, closing).await.is_ok(), "too many connections");
}

#[tokio::test]
async fn clients_with_a_token_leave_connections_for_health_checks() {
    let fixture = Fixture::with(|options| options.connections_max = 8).await;
    let mut clients = Vec::new();
    for _ in 0..7 {
        let mut client = fixture.client().await;
        assert_eq!(client.get("/v1/queues").await.status, 200);
        clients.push(client);
    }
    let mut eighth = fixture.client().await;
    let refused = eighth.get("/v1/queues").await;
    assert_eq!(problem(&refused), (503, "overloaded".to_owned()));
    assert_eq!(eighth.get("/healthz").await.status, 200);
    let mut ninth = fixture.client().await;
    assert_eq!(ninth.get("/healthz").await.status, 200);
    assert_eq!(clients[0].get("/v1/queues").await.status, 200);
}
