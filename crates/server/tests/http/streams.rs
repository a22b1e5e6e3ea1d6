//! NDJSON import and export.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_server::client::Reply;

use crate::fixture::{Fixture, TestClient, problem};

async fn import(client: &mut TestClient, key: Option<&str>, text: impl Into<Body>) -> Reply {
    let mut request = Request::post("/v1/queues/q/jobs/import");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let request = request.header("content-type", "application/x-ndjson");
    client
        .0
        .send(request.body(text.into()).unwrap())
        .await
        .unwrap()
}

fn lines(reply: &Reply) -> Vec<Value> {
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn each_line_has_its_reply_and_an_invalid_one_stops_nothing() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let text = "{\"id\":\"a\",\"payload\":{\"n\" : 1}}\n\n{bad\n[1]\n{\"id\":\"a\"}\n{\"priority\":99}\n{\"id\":\"z\"}";

    let replies = lines(&import(&mut client, None, text).await);

    let seen: Vec<_> = replies
        .iter()
        .map(|reply| {
            (
                reply["line"].as_u64().unwrap(),
                reply["error"]["code"].as_str(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, None),
            (3, Some("invalid")),
            (4, Some("invalid")),
            (5, None),
            (6, Some("invalid")),
            (7, None)
        ]
    );
    assert_eq!(
        (&replies[0]["id"], &replies[3]["duplicate"]),
        (&json!("a"), &json!(true))
    );
}

#[tokio::test]
async fn many_lines_are_imported_and_exported_completely() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let text: String = (0..3000)
        .map(|n| format!("{{\"payload\":\"job {n}\"}}\n"))
        .collect();

    let first = lines(&import(&mut client, Some("k"), text.clone()).await);
    let again = lines(&import(&mut client, Some("k"), text).await);
    let out = lines(&client.get("/v1/queues/q/jobs/export?state=ready").await);

    assert_eq!((first.len(), again.len(), out.len()), (3000, 3000, 3000));
    assert!(again.iter().all(|reply| reply["duplicate"] == true));
    let mut payloads: Vec<_> = out
        .iter()
        .map(|job| job["payload"].as_str().unwrap())
        .collect();
    payloads.sort_unstable();
    payloads.dedup();
    assert_eq!(payloads.len(), 3000);
}

#[tokio::test]
async fn an_import_of_another_media_type_is_rejected() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let reply = client.post("/v1/queues/q/jobs/import", json!({})).await;
    assert_eq!(problem(&reply), (415, "wrong_media_type".to_owned()));
    let reply = client.get("/v1/queues/q/jobs/export?state=odd").await;
    assert_eq!(problem(&reply), (400, "invalid".to_owned()));
}

#[tokio::test]
async fn a_line_too_long_is_reported_and_the_others_are_imported() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let max = 8 * 1024 * 1024;
    let line = |bytes: usize| format!("{{\"id\":\"x\"}}{}", " ".repeat(bytes - 10));
    let text = format!(
        "{{\"id\":\"a\"}}\n{}\n{}\n{{\"id\":\"z\"}}\n",
        line(max),
        line(max + 1)
    );

    let replies = lines(&import(&mut client, None, text).await);

    let ids: Vec<_> = replies.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(
        ids,
        ["a", "x", "", "z"]
            .map(|id| match id {
                "" => Value::Null,
                id => json!(id),
            })
            .each_ref()
    );
    let long = &replies[2];
    assert_eq!(
        (&long["line"], &long["error"]["code"]),
        (&json!(3), &json!("too_large"))
    );
}
