//! Server-sent events.

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use crate::fixture::{Fixture, LONG, TestClient, problem, secret, tokens_of};

/// Reads a stream until it contains `wanted`. Returns everything read.
async fn read_until(stream: &mut BodyDataStream, wanted: &str) -> String {
    let mut text = String::new();
    let read = async {
        while !text.contains(wanted) {
            let chunk = stream.next().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    let waited = timeout(LONG, read).await;
    assert!(waited.is_ok(), "{wanted} is missing: {text}");
    text
}

async fn open(fixture: &Fixture, path: &str, last: Option<&str>) -> BodyDataStream {
    let mut request = Request::get(path);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let request = request.body(Body::empty()).unwrap();
    let mut client = fixture.client().await;
    let response = client.0.send_streaming(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Body::new(response.into_body()).into_data_stream()
}

#[tokio::test]
async fn events_are_sent_and_a_client_resumes() {
    let fixture = Fixture::new().await;
    let mut producer = fixture.client().await;
    producer
        .post("/v1/queues/q/jobs", json!({"id":"first"}))
        .await;
    let mut stream = open(&fixture, "/v1/events?queue=q", None).await;
    // The listener is running from here on.
    let first = read_until(&mut stream, "event: resync").await;
    let last = first
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();

    producer
        .post("/v1/queues/q/jobs", json!({"id":"second"}))
        .await;
    let received = read_until(&mut stream, "event: work").await;
    drop(stream);
    let mut again = open(&fixture, "/v1/events?queue=q", Some(last)).await;
    let resumed = read_until(&mut again, "event: work").await;
    let by_query = format!("/v1/events?queue=q&last_event_id={last}");
    let mut by_query = open(&fixture, &by_query, None).await;
    let by_query = read_until(&mut by_query, "event: work").await;
    let mut strange = open(&fixture, "/v1/events", Some("0000-5")).await;
    let gap = read_until(&mut strange, "event: ").await;

    assert!(received.contains(r#"data: {"queue":"q"}"#), "{received}");
    assert!(!resumed.contains("resync"), "{resumed}");
    assert!(!by_query.contains("resync"), "{by_query}");
    assert!(gap.contains("event: resync"), "{gap}");
}

#[tokio::test]
async fn a_page_of_another_site_gets_no_events() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let request = Request::get("/v1/events").header("origin", "http://evil.example");
    let reply = client
        .0
        .send(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(problem(&reply), (403, "forbidden".to_owned()));
}

/// Requests a stream with a token. Returns the status and the stream.
async fn open_stream(fixture: &Fixture, path: &str, token: Option<&str>) -> (u16, BodyDataStream) {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {}", secret(token)));
    }
    let mut client = fixture.client().await;
    let request = request.body(Body::empty()).unwrap();
    let response = client.0.send_streaming(request).await.unwrap();
    let status = response.status().as_u16();
    (status, Body::new(response.into_body()).into_data_stream())
}

async fn issue_ticket(fixture: &Fixture, token: &str) -> String {
    let mut client = fixture.client().await;
    let reply = client.send_as(token, "POST", "/v1/events/ticket").await;
    let reply = TestClient::json(&reply, 200);
    assert_eq!(reply["expires_in_ms"], 30_000);
    reply["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_ticket_opens_one_stream_and_nothing_else() {
    let fixture = Fixture::with_tokens(&[("mail", "read", "mail-*")]).await;
    let ticket = issue_ticket(&fixture, "mail").await;
    let mut client = fixture.client().await;
    let with = |path: &str| format!("{path}?ticket={ticket}");

    for path in ["/v1/queues", "/metrics", "/v1/events/", "/docs"] {
        assert_eq!(client.get(&with(path)).await.status, 401, "{path}");
    }
    let post = client.send("POST", &with("/v1/events"), json!(null)).await;
    let (opened, mut stream) = open_stream(&fixture, &with("/v1/events"), None).await;
    let (again, _) = open_stream(&fixture, &with("/v1/events"), None).await;
    let (wrong, _) = open_stream(&fixture, "/v1/events?ticket=0123", None).await;
    let token_as_ticket = open_stream(&fixture, "/v1/events?ticket=mail", None)
        .await
        .0;
    let bare = open_stream(&fixture, "/v1/events", None).await.0;

    assert_eq!((post.status.as_u16(), opened), (401, 200));
    assert_eq!((again, wrong, token_as_ticket, bare), (401, 401, 401, 401));
    read_until(&mut stream, "retry: 1000").await;
    // It has the permissions of the token it was issued for.
    let narrow = format!(
        "/v1/events?queue=post&ticket={}",
        issue_ticket(&fixture, "mail").await
    );
    assert_eq!(open_stream(&fixture, &narrow, None).await.0, 403);
}

#[tokio::test]
async fn a_ticket_is_issued_for_a_token_with_the_scope_read() {
    let fixture = Fixture::with_tokens(&[("work", "work", "*"), ("read", "read", "*")]).await;
    let mut client = fixture.client().await;
    let path = "/v1/events/ticket";
    assert_eq!(client.send_as("work", "POST", path).await.status, 403);
    assert_eq!(client.send("POST", path, json!(null)).await.status, 401);
    assert_eq!(client.send_as("read", "GET", path).await.status, 405);
    let foreign = Request::post(path)
        .header("authorization", format!("Bearer {}", secret("read")))
        .header("origin", "http://evil.example")
        .body(Body::empty());
    let foreign = client.0.send(foreign.unwrap()).await.unwrap();
    assert_eq!(problem(&foreign), (403, "forbidden".to_owned()));
}

#[tokio::test]
async fn a_token_has_so_many_streams_and_another_has_its_own() {
    let tokens = tokens_of(&[("one", "read", "* streams=1"), ("two", "read", "*")]);
    let fixture = Fixture::with(|options| {
        options.tokens = tokens;
        options.token_streams_max = 2;
        options.streams_max = 3;
    })
    .await;
    let events = "/v1/events";
    let first = open_stream(&fixture, events, Some("one")).await;
    let mut client = fixture.client().await;
    let refused = client.send_as("one", "GET", events).await;
    // A stream opened with a ticket counts for the token of the ticket.
    let by_ticket = format!("{events}?ticket={}", issue_ticket(&fixture, "one").await);
    let by_ticket = open_stream(&fixture, &by_ticket, None).await.0;
    let second = open_stream(&fixture, events, Some("two")).await;
    let third = open_stream(&fixture, events, Some("two")).await;
    let fourth = open_stream(&fixture, events, Some("two")).await.0;

    assert_eq!((first.0, second.0, third.0), (200, 200, 200));
    assert_eq!(problem(&refused), (429, "too_many_requests".to_owned()));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!((by_ticket, fourth), (429, 429));
    // A closed stream frees its slot.
    drop(first);
    let reopened = async {
        while open_stream(&fixture, events, Some("one")).await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        timeout(LONG, reopened).await.is_ok(),
        "its slot was not freed"
    );
}

#[tokio::test]
async fn all_streams_together_are_bounded() {
    let fixture = Fixture::with(|options| options.streams_max = 1).await;
    let first = open_stream(&fixture, "/v1/events", None).await;
    let mut client = fixture.client().await;
    let second = client.get("/v1/events").await;

    assert_eq!(first.0, 200);
    assert_eq!(problem(&second), (503, "overloaded".to_owned()));
}
