//! Requests that are nested too deeply, too many, or from the wrong origin.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::{Fixture, LONG, TestClient, problem};

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
    assert_eq!(one.get("/healthz").await.status, 200);
    assert_eq!(two.get("/healthz").await.status, 200);
    let mut third = TcpStream::connect(fixture.address()).await.unwrap();
    let mut response = String::new();

    let _ = third.read_to_string(&mut response).await;

    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert_eq!(one.get("/healthz").await.status, 200);
}
