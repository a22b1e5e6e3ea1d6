//! Server-sent events.

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use crate::fixture::{Caller, LONG, Scene, problem, tokens_of};

/// Reads a stream until `wanted` was seen; answers all of it.
async fn read_until(stream: &mut BodyDataStream, wanted: &str) -> String {
    let mut text = String::new();
    let read = async {
        while !text.contains(wanted) {
            let part = stream.next().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&part));
        }
    };
    let waited = timeout(LONG, read).await;
    assert!(waited.is_ok(), "{wanted} did not come: {text}");
    text
}

async fn open(scene: &Scene, path: &str, last: Option<&str>) -> BodyDataStream {
    let mut request = Request::get(path);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let request = request.body(Body::empty()).unwrap();
    let mut caller = scene.client().await;
    let response = caller.0.open(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    Body::new(response.into_body()).into_data_stream()
}

#[tokio::test]
async fn what_happens_is_told_and_a_reader_resumes() {
    let scene = Scene::new().await;
    let mut puts = scene.client().await;
    puts.post("/v1/queues/q/jobs", json!({"id":"first"})).await;
    let mut stream = open(&scene, "/v1/events?queue=q", None).await;
    // The listener is at work from here on.
    let begun = read_until(&mut stream, "event: resync").await;
    let last = begun
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();

    puts.post("/v1/queues/q/jobs", json!({"id":"second"})).await;
    let told = read_until(&mut stream, "event: work").await;
    drop(stream);
    let mut again = open(&scene, "/v1/events?queue=q", Some(last)).await;
    let resumed = read_until(&mut again, "event: work").await;
    let by_query = format!("/v1/events?queue=q&last_event_id={last}");
    let mut by_query = open(&scene, &by_query, None).await;
    let by_query = read_until(&mut by_query, "event: work").await;
    let mut strange = open(&scene, "/v1/events", Some("0000-5")).await;
    let gap = read_until(&mut strange, "event: ").await;

    assert!(told.contains(r#"data: {"queue":"q"}"#), "{told}");
    assert!(!resumed.contains("resync"), "{resumed}");
    assert!(!by_query.contains("resync"), "{by_query}");
    assert!(gap.contains("event: resync"), "{gap}");
}

#[tokio::test]
async fn a_page_of_another_site_gets_no_events() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let request = Request::get("/v1/events").header("origin", "http://evil.example");
    let reply = caller
        .0
        .ask(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(problem(&reply), (403, "forbidden".to_owned()));
}

/// The status of a request for a stream, and the stream.
async fn knock(scene: &Scene, path: &str, token: Option<&str>) -> (u16, BodyDataStream) {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut caller = scene.client().await;
    let request = request.body(Body::empty()).unwrap();
    let response = caller.0.open(request).await.unwrap();
    let status = response.status().as_u16();
    (status, Body::new(response.into_body()).into_data_stream())
}

async fn draw(scene: &Scene, token: &str) -> String {
    let mut caller = scene.client().await;
    let reply = caller.ask_as(token, "POST", "/v1/events/ticket").await;
    let reply = Caller::json(&reply, 200);
    assert_eq!(reply["expires_in_ms"], 30_000);
    reply["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_ticket_opens_one_stream_and_nothing_else() {
    let scene = Scene::with_tokens(&[("mail", "read", "mail-*")]).await;
    let ticket = draw(&scene, "mail").await;
    let mut caller = scene.client().await;
    let with = |path: &str| format!("{path}?ticket={ticket}");

    for path in ["/v1/queues", "/metrics", "/v1/events/", "/docs"] {
        assert_eq!(caller.get(&with(path)).await.status, 401, "{path}");
    }
    let post = caller.ask("POST", &with("/v1/events"), json!(null)).await;
    let (opened, mut stream) = knock(&scene, &with("/v1/events"), None).await;
    let (again, _) = knock(&scene, &with("/v1/events"), None).await;
    let (wrong, _) = knock(&scene, "/v1/events?ticket=0123", None).await;
    let token_as_ticket = knock(&scene, "/v1/events?ticket=mail", None).await.0;
    let bare = knock(&scene, "/v1/events", None).await.0;

    assert_eq!((post.status.as_u16(), opened), (401, 200));
    assert_eq!((again, wrong, token_as_ticket, bare), (401, 401, 401, 401));
    read_until(&mut stream, "retry: 1000").await;
    // It is as good as the token it was drawn with, and no better.
    let narrow = format!(
        "/v1/events?queue=post&ticket={}",
        draw(&scene, "mail").await
    );
    assert_eq!(knock(&scene, &narrow, None).await.0, 403);
}

#[tokio::test]
async fn a_ticket_is_drawn_with_a_token_that_may_read() {
    let scene = Scene::with_tokens(&[("work", "work", "*"), ("read", "read", "*")]).await;
    let mut caller = scene.client().await;
    let path = "/v1/events/ticket";
    assert_eq!(caller.ask_as("work", "POST", path).await.status, 403);
    assert_eq!(caller.ask("POST", path, json!(null)).await.status, 401);
    assert_eq!(caller.ask_as("read", "GET", path).await.status, 405);
    let foreign = Request::post(path)
        .header("authorization", "Bearer read")
        .header("origin", "http://evil.example")
        .body(Body::empty());
    let foreign = caller.0.ask(foreign.unwrap()).await.unwrap();
    assert_eq!(problem(&foreign), (403, "forbidden".to_owned()));
}

#[tokio::test]
async fn a_token_has_so_many_streams_and_another_has_its_own() {
    let tokens = tokens_of(&[("one", "read", "* streams=1"), ("two", "read", "*")]);
    let scene = Scene::with(|options| {
        options.tokens = tokens;
        options.token_streams_max = 2;
        options.streams_max = 3;
    })
    .await;
    let events = "/v1/events";
    let first = knock(&scene, events, Some("one")).await;
    let mut caller = scene.client().await;
    let refused = caller.ask_as("one", "GET", events).await;
    // A stream by ticket is one of the token it was drawn with.
    let by_ticket = format!("{events}?ticket={}", draw(&scene, "one").await);
    let by_ticket = knock(&scene, &by_ticket, None).await.0;
    let second = knock(&scene, events, Some("two")).await;
    let third = knock(&scene, events, Some("two")).await;
    let fourth = knock(&scene, events, Some("two")).await.0;

    assert_eq!((first.0, second.0, third.0), (200, 200, 200));
    assert_eq!(problem(&refused), (429, "too_many_requests".to_owned()));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!((by_ticket, fourth), (429, 429));
    // One that is closed makes room.
    drop(first);
    let reopened = async {
        while knock(&scene, events, Some("one")).await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        timeout(LONG, reopened).await.is_ok(),
        "its place stayed taken"
    );
}

#[tokio::test]
async fn all_streams_together_are_bounded() {
    let scene = Scene::with(|options| options.streams_max = 1).await;
    let first = knock(&scene, "/v1/events", None).await;
    let mut caller = scene.client().await;
    let second = caller.get("/v1/events").await;

    assert_eq!(first.0, 200);
    assert_eq!(problem(&second), (503, "overloaded".to_owned()));
}
