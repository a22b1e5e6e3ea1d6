//! Schedules over HTTP: which tokens may put them, and how the server reports them.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_core::QueueName;
use windlass_server::client::Reply;

use crate::fixture::{Fixture, TestClient, problem, secret};

/// Sends a request with a token.
async fn send(fixture: &Fixture, token: &str, path: &str, media_type: &str, body: &str) -> Reply {
    let request = Request::post(path)
        .header("authorization", format!("Bearer {}", secret(token)))
        .header("content-type", media_type)
        .body(Body::from(body.to_owned()));
    let mut client = fixture.client().await;
    client.0.send(request.unwrap()).await.unwrap()
}

async fn apply(fixture: &Fixture, token: &str, body: Value) -> Reply {
    let body = body.to_string();
    send(
        fixture,
        token,
        "/v1/schedules/apply",
        "application/json",
        &body,
    )
    .await
}

fn in_queues(queues: &[&str]) -> Value {
    let schedule = |queue: &&str| json!({"queue":queue,"name":"s","every":"1h"});
    queues.iter().map(schedule).collect()
}

async fn queues(fixture: &Fixture) -> Vec<String> {
    let queues = fixture.store.queues().await.unwrap();
    queues.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn apply_puts_schedules_only_in_queues_of_the_token() {
    let fixture = Fixture::with_tokens(&[("mail", "admin", "mail-*")]).await;
    let other = json!({"schedules": in_queues(&["mail-1", "post"])});
    let refused = apply(&fixture, "mail", other).await;
    assert_eq!(problem(&refused), (403, "forbidden".to_owned()));
    assert!(queues(&fixture).await.is_empty(), "nothing was put");

    let own = json!({"schedules": in_queues(&["mail-1", "mail-2"])});
    let applied = apply(&fixture, "mail", own).await;
    assert_eq!(TestClient::json(&applied, 200)["created"], 2);
}

#[tokio::test]
async fn apply_prunes_only_with_a_token_for_all_queues() {
    let fixture = Fixture::with_tokens(&[("mail", "admin", "mail-*"), ("all", "admin", "*")]).await;
    let both = json!({"set":"a","schedules": in_queues(&["mail-1", "post"])});
    TestClient::json(&apply(&fixture, "all", both).await, 200);

    let prune = json!({"set":"a","prune":true,"schedules": in_queues(&["mail-1"])});
    let refused = apply(&fixture, "mail", prune.clone()).await;

    assert_eq!(problem(&refused), (403, "forbidden".to_owned()));
    let pruned = TestClient::json(&apply(&fixture, "all", prune).await, 200);
    assert_eq!(pruned["deleted"], 1, "the refused call deleted nothing");
}

#[tokio::test]
async fn apply_creates_no_more_queues_than_the_token_may_have() {
    let fixture = Fixture::with_tokens(&[("few", "admin", "* names=2")]).await;
    let three = json!({"schedules": in_queues(&["a", "b", "c"])});
    let refused = apply(&fixture, "few", three).await;
    assert_eq!(problem(&refused), (403, "forbidden".to_owned()));
    assert!(queues(&fixture).await.is_empty(), "nothing was put");
}

#[tokio::test]
async fn an_import_puts_schedules_only_with_the_scope_that_put_requires() {
    let fixture = Fixture::with_tokens(&[("jobs", "enqueue", "*"), ("all", "admin", "*")]).await;
    let lines = "{\"id\":\"a\"}\n{\"schedule\":{\"name\":\"s\",\"every\":\"1h\"}}\n";
    let import = async |token: &str| {
        let path = "/v1/queues/q/jobs/import";
        let reply = send(&fixture, token, path, "application/x-ndjson", lines).await;
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };

    let replies = import("jobs").await;
    assert_eq!(replies[0]["id"], "a");
    assert_eq!(replies[1]["error"]["code"], "forbidden", "{}", replies[1]);
    let queue = QueueName::new("q").unwrap();
    let stats = fixture.store.stats(&queue).await.unwrap().unwrap();
    assert_eq!((stats.ready, stats.schedules), (1, 0));

    let expected = json!({"line":2,"schedule":"s","queue":"q","result":"created"});
    assert_eq!(import("all").await[1], expected);
    assert_eq!(import("all").await[1]["result"], "unchanged");
}

#[tokio::test]
async fn a_server_reports_the_queues_in_which_requests_put_schedules() {
    let (sender, mut reported) = mpsc::channel(8);
    let fixture = Fixture::with(|options| options.put_schedules = Some(sender)).await;
    let mut client = fixture.client().await;

    let put = json!({"every":"1h"});
    client.send("PUT", "/v1/queues/put/schedules/s", put).await;
    let bad = json!({"every":"0s"});
    client.send("PUT", "/v1/queues/bad/schedules/s", bad).await;
    client.post("/v1/queues/jobs/jobs", json!({})).await;
    let list = json!({"schedules": in_queues(&["one", "two"])});
    client.post("/v1/schedules/apply", list).await;
    let line = r#"{"schedule":{"name":"s","every":"1h"}}"#;
    let import = Request::post("/v1/queues/imported/jobs/import")
        .header("content-type", "application/x-ndjson")
        .body(Body::from(line));
    client.0.send(import.unwrap()).await.unwrap();

    let mut names = Vec::new();
    while let Ok(queue) = reported.try_recv() {
        names.push(queue.to_string());
    }
    assert_eq!(names, ["put", "one", "two", "imported"]);
}
