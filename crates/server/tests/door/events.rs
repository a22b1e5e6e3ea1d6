//! Server-sent events.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::timeout;

use crate::scene::{Scene, problem};

/// Reads a stream until `wanted` was seen; answers all of it.
async fn read_until(stream: &mut BodyDataStream, wanted: &str) -> String {
    let mut text = String::new();
    let read = async {
        while !text.contains(wanted) {
            let part = stream.next().await.unwrap().unwrap();
            text.push_str(&String::from_utf8_lossy(&part));
        }
    };
    let waited = timeout(Duration::from_secs(20), read).await;
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
    let mut strange = open(&scene, "/v1/events", Some("0000-5")).await;
    let gap = read_until(&mut strange, "event: ").await;

    assert!(told.contains(r#"data: {"queue":"q"}"#), "{told}");
    assert!(!resumed.contains("resync"), "{resumed}");
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
