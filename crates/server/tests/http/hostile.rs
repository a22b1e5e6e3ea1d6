//! Text that would run as a script in a page: stored in every field and sent in every parameter, it
//! is returned as data and never as HTML.

mod corpus;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_server::client::Reply;
use windlass_server::routes;

use crate::fixture::{Fixture, TestClient};
use corpus::CORPUS;

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Checks the headers of a response that stop browsers from rendering it.
fn check(what: &str, reply: &Reply) {
    let header = |name: &str| {
        let value = reply.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap_or_default())
    };
    assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
    assert_eq!(header("referrer-policy"), "no-referrer", "{what}");
    let opener = header("cross-origin-opener-policy");
    assert_eq!(opener, "same-origin", "{what}");
    let embedding = header("cross-origin-resource-policy");
    assert_eq!(embedding, "same-origin", "{what}");
    let policy = header("content-security-policy");
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{what}: {policy}");
    }
    let text = String::from_utf8_lossy(&reply.body);
    let media_type = header("content-type").split(';').next().unwrap_or_default();
    // Pages run the script of this server and nothing else.
    let scripts = policy.matches("script").count();
    let is_page = media_type == "text/html";
    assert!(
        scripts == 0 || is_page && scripts == 1 && policy.contains("script-src 'self';"),
        "{what}: {policy}"
    );
    assert!(!policy.contains("unsafe"), "{what}: {policy}");
    match media_type {
        "application/json" | "application/problem+json" => {
            let value: Result<Value, _> = serde_json::from_str(&text);
            assert!(value.is_ok(), "{what}: {text}");
        }
        "application/x-ndjson" => {
            for line in text.lines() {
                let value: Result<Value, _> = serde_json::from_str(line);
                assert!(value.is_ok(), "{what}: {line}");
            }
        }
        "application/octet-stream" => {
            assert_eq!(header("content-disposition"), "attachment", "{what}");
        }
        "text/html" => {
            // Text without these characters is only text, inside and outside of quoted attributes.
            for hostile in CORPUS
                .iter()
                .filter(|text| text.contains(['<', '>', '"', '\'', '&']))
            {
                assert!(!text.contains(hostile), "{what} echoes {hostile:?}");
            }
        }
        "text/css" | "text/javascript" | "image/svg+xml" => {}
        // Forms lead to another page.
        "" if reply.status == 303 => assert!(text.is_empty(), "{what}"),
        "text/plain" => {
            for hostile in CORPUS {
                // Shorter texts can occur in any page.
                let is_echo = hostile.len() > 3 && text.contains(hostile);
                assert!(!is_echo, "{what} echoes {hostile:?}");
            }
        }
        _ => panic!("{what} returns {media_type:?}"),
    }
}

/// Stores jobs and a worker with the text in every field that accepts it. Returns all replies.
async fn store(client: &mut TestClient, text: &str, number: usize) -> Vec<Reply> {
    let id = format!(
        "{number}{}",
        text.chars().filter(|c| !c.is_control()).collect::<String>()
    );
    let queue = format!("/v1/queues/q{number}");
    let job = json!({
        "id": id, "payload": text, "kind": text, "unique_key": text,
        "headers": { "x-text": text, "content-type": "text/html" },
    });
    // Not every field accepts every text; rejected fields are left out in a second request.
    let mut replies = vec![client.post(&format!("{queue}/jobs"), job).await];
    if replies[0].status != 201 {
        let job = json!({ "id": id, "payload": text, "headers": { "content-type": "text/html" } });
        replies.push(client.post(&format!("{queue}/jobs"), job).await);
    }
    replies.push(
        client
            .post(&format!("{queue}/jobs"), json!({ text: text }))
            .await,
    );
    replies.push(
        client
            .post(
                &format!("{queue}/jobs"),
                json!({ "headers": { text: "x" } }),
            )
            .await,
    );
    let worker = json!({ "worker": id, "name": text, "host": text, "version": text, "queues": [] });
    replies.push(client.post("/v1/workers", worker).await);
    let with_queue = json!({ "queues": [text], "name": text });
    replies.push(client.post("/v1/workers", with_queue).await);
    let claim = json!({ "worker": id, "max": 10 });
    replies.push(client.post(&format!("{queue}/claim"), claim).await);
    let claimed: Value = serde_json::from_slice(&replies[replies.len() - 1].body).unwrap();
    if let Some(token) = claimed.get(0).map(|job| job["token"].clone()) {
        let job = format!("{queue}/jobs/{}", encoded(&id));
        let progress = json!({ "token": token, "fraction": 0.5, "message": text });
        replies.push(client.post(&format!("{job}/progress"), progress).await);
        let ended = if number.is_multiple_of(2) {
            ("complete", json!({ "token": token, "result": text }))
        } else {
            let error = json!({ "token": token, "error": text, "permanent": true });
            ("fail", error)
        };
        replies.push(client.post(&format!("{job}/{}", ended.0), ended.1).await);
    }
    replies
}

#[tokio::test]
async fn hostile_text_in_any_stored_field_comes_back_as_data() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let keep = json!({"settings":{"keep_succeeded":"all"}});
    for (number, text) in CORPUS.iter().enumerate() {
        let settings = format!("/v1/queues/q{number}/settings");
        client.send("PUT", &settings, keep.clone()).await;
        for reply in store(&mut client, text, number).await {
            check(text, &reply);
        }
        let id: String = text.chars().filter(|c| !c.is_control()).collect();
        let id = encoded(&format!("{number}{id}"));
        for (method, path, _) in routes() {
            if method != "GET" || path == "/v1/events" {
                continue;
            }
            let queue = format!("q{number}");
            let path = path.replace("{queue}", &queue).replace("{id}", &id);
            let path = if path.ends_with("/wait") {
                format!("{path}?timeout=1ms")
            } else {
                path
            };
            check(&format!("{path} of {text:?}"), &client.get(&path).await);
        }
        let job = client.get(&format!("/v1/queues/q{number}/jobs/{id}")).await;
        let job = TestClient::json(&job, 200);
        assert_eq!(job["payload"], *text, "the payload is stored");
        let stored = if number % 2 == 0 {
            &job["result"]
        } else {
            &job["error"]
        };
        assert_eq!(stored, text, "the result or error is stored");
    }
}

/// Query parameters.
const PARAMETERS: [&str; 10] = [
    "state",
    "kind",
    "limit",
    "cursor",
    "timeout",
    "queue",
    "ticket",
    "last_event_id",
    "id",
    "header.x",
];

/// Returns the paths of a route with the text in the query and in each path parameter.
fn paths(method: &str, path: &str, hostile: &str) -> Vec<String> {
    let parts = [("{queue}", "q"), ("{id}", "a"), ("{worker}", "w")];
    let filled = |path: &str| {
        let fill = |path: String, (name, plain): &(&str, &str)| path.replace(name, plain);
        parts.iter().fold(path.to_owned(), fill)
    };
    let mut paths = vec![format!("{}?{hostile}={hostile}", filled(path))];
    if method == "GET" {
        paths.push(format!("{}/{hostile}", filled(path)));
    }
    for (name, _) in parts {
        if path.contains(name) {
            paths.push(filled(&path.replace(name, hostile)));
        }
    }
    paths
}

#[tokio::test]
async fn hostile_text_in_any_parameter_comes_back_as_data() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    for text in CORPUS {
        let hostile = encoded(text);
        for (method, path, _) in routes() {
            for path in paths(method, path, &hostile) {
                let what = format!("{method} {path}");
                check(&what, &client.send(method, &path, Value::Null).await);
            }
        }
        for parameter in PARAMETERS {
            for path in [
                "/v1/queues/q/jobs",
                "/v1/queues/q/jobs/export",
                "/v1/queues/q/jobs/a",
            ] {
                let path = format!("{path}?{parameter}={hostile}");
                check(&path, &client.get(&path).await);
            }
        }
        let request = Request::get("/v1/queues/none")
            .header(
                "x-request-id",
                text.replace(|c: char| !(' '..='~').contains(&c), ""),
            )
            .header("accept", "text/html")
            .body(Body::empty());
        let reply = client.0.send(request.unwrap()).await.unwrap();
        check(text, &reply);
        let echo = reply.headers["x-request-id"].to_str().unwrap();
        assert!(!echo.contains(['<', '>', '"', '\'', '&', ' ']), "{echo}");
    }
}

#[test]
fn the_corpus_has_sixty_texts_and_none_twice() {
    let mut texts = CORPUS.to_vec();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 60);
}
