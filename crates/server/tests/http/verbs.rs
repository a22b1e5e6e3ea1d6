//! Every operation over HTTP, and the format of replies.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::fixture::{Fixture, TestClient, problem};

#[tokio::test]
async fn a_job_goes_from_enqueue_to_complete() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;

    let job = json!({"id":"a","payload":{"n":1},"priority":2,"kind":"letter"});
    let job = TestClient::json(&client.post("/v1/queues/q/jobs", job).await, 201);
    let worker = json!({"name":"w","queues":["q"]});
    let worker = TestClient::json(&client.post("/v1/workers", worker).await, 200);
    let worker = worker["worker"].as_str().unwrap().to_owned();
    let claim = json!({"max":5,"worker":worker});
    let claimed = TestClient::json(&client.post("/v1/queues/q/claim", claim).await, 200);
    let token = claimed[0]["token"].clone();
    let renewed = client
        .post("/v1/queues/q/renew", json!({"token":token}))
        .await;
    let progress = json!({"token":token,"fraction":0.5,"message":"half"});
    let noted = client.post("/v1/queues/q/jobs/a/progress", progress).await;
    let heartbeat = json!({"running":[{"queue":"q","id":"a","token":token}]});
    let heartbeat = client
        .post(&format!("/v1/workers/{worker}/heartbeat"), heartbeat)
        .await;
    let seen = TestClient::json(&client.get("/v1/queues/q/jobs/a").await, 200);
    let done = json!({"token":token,"result":{"ok":true}});
    let done = client.post("/v1/queues/q/jobs/a/complete", done).await;

    assert_eq!(
        (&job["state"], &job["duplicate"]),
        (&json!("ready"), &json!(false))
    );
    assert_eq!(claimed[0]["payload"], r#"{"n":1}"#);
    assert_eq!(claimed[0]["headers"]["content-type"], "application/json");
    assert_eq!(TestClient::json(&renewed, 200)["cancel"], json!([]));
    assert_eq!(TestClient::json(&noted, 200)["outcome"], "recorded");
    assert_eq!(TestClient::json(&heartbeat, 200)["command"], "continue");
    assert_eq!(
        (&seen["state"], &seen["progress"]),
        (&json!("running"), &json!(0.5))
    );
    assert_eq!(TestClient::json(&done, 200)["outcome"], "completed");
    let ended = TestClient::json(
        &client.get("/v1/queues/q/jobs/a/wait?timeout=60s").await,
        200,
    );
    assert_eq!(ended["state"], "succeeded");
}

#[tokio::test]
async fn attempts_end_with_every_outcome() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (verb, body, state) in [
        ("fail", json!({"error":"no"}), "scheduled"),
        ("fail", json!({"error":"no","permanent":true}), "dead"),
        ("release", json!({}), "ready"),
        ("snooze", json!({"delay":"1h"}), "scheduled"),
    ] {
        let queue = format!("/v1/queues/{verb}-{state}");
        client
            .post(&format!("{queue}/jobs"), json!({"id":"a"}))
            .await;
        let claimed = client.post(&format!("{queue}/claim"), Value::Null).await;
        let mut body = body;
        body["token"] = TestClient::json(&claimed, 200)[0]["token"].clone();

        let ended = client.post(&format!("{queue}/jobs/a/{verb}"), body).await;

        assert_eq!(ended.status, 200, "{verb} {ended:?}");
        let job = TestClient::json(&client.get(&format!("{queue}/jobs/a")).await, 200);
        assert_eq!(job["state"], state, "{verb}");
    }
}

/// Method, path, body, and a field of the reply with its value.
#[rustfmt::skip]
const CHANGES: [(&str, &str, &str, &str, &str); 13] = [
    ("POST", "/v1/queues/q/jobs/a/promote", "null", "outcome", "\"promoted\""),
    ("POST", "/v1/queues/q/jobs/a/cancel", "null", "outcome", "\"cancelled\""),
    ("POST", "/v1/queues/q/promote", r#"{"all":true}"#, "done", "2"),
    ("POST", "/v1/queues/q/pause", "null", "paused", "true"),
    ("POST", "/v1/queues/q/resume", "{}", "paused", "false"),
    ("PUT", "/v1/queues/q/settings", r#"{"settings":{"keep_succeeded":"all"}}"#, "queue", "\"q\""),
    ("GET", "/v1/queues/q/settings", "null", "queue", "\"q\""),
    ("GET", "/v1/queues/q", "null", "ready", "2"),
    ("POST", "/v1/queues/q/maintain", "null", "promoted", "0"),
    ("POST", "/v1/queues/q/audit", "null", "repaired", "0"),
    ("POST", "/v1/queues/q/cancel", r#"{"id":"b"}"#, "outcome", "\"cancelled\""),
    ("DELETE", "/v1/queues/q/jobs/b", "null", "outcome", "\"deleted\""),
    ("POST", "/v1/queues/q/purge", "null", "purged", "1"),
];

#[tokio::test]
async fn operators_change_jobs_and_queues() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for id in ["a", "b", "c"] {
        let job = json!({"id":id,"delay":"1h"});
        client.post("/v1/queues/q/jobs", job).await;
    }
    for (method, path, body, field, value) in CHANGES {
        let reply = client.send(method, path, body.parse().unwrap()).await;
        let value: Value = value.parse().unwrap();
        assert_eq!(
            TestClient::json(&reply, 200)[field],
            value,
            "{method} {path}"
        );
    }
    let queues = TestClient::json(&client.get("/v1/queues").await, 200);
    assert_eq!(queues[0]["queue"], "q");
}

#[tokio::test]
async fn workers_are_listed_commanded_and_failed() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let worker = json!({"worker":"w-1","queues":["q"]});
    client.post("/v1/workers", worker).await;
    client.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    client
        .post("/v1/queues/q/claim", json!({"worker":"w-1"}))
        .await;

    let commanded = client
        .post("/v1/workers/w-1/command", json!({"command":"pause"}))
        .await;
    let heartbeat = client.post("/v1/workers/w-1/heartbeat", json!({})).await;
    let listed = TestClient::json(&client.get("/v1/workers").await, 200);
    let left = client.post("/v1/workers/w-1/leave", Value::Null).await;
    let failed = client.post("/v1/workers/w-2/fail", Value::Null).await;

    assert_eq!(TestClient::json(&commanded, 200)["command"], "pause");
    assert_eq!(TestClient::json(&heartbeat, 200)["command"], "pause");
    assert_eq!(listed[0]["id"], "w-1");
    assert_eq!(TestClient::json(&left, 200)["released"], 1);
    assert_eq!(problem(&failed), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn a_dispatched_job_is_accepted() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    let claimed = client
        .post("/v1/queues/q/claim", json!({"mode":"dispatch"}))
        .await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();

    let accepted = client
        .post("/v1/queues/q/jobs/a/accept", json!({"token":token}))
        .await;

    assert_eq!(TestClient::json(&accepted, 200)["outcome"], "accepted");
}

#[tokio::test]
async fn a_listing_continues_at_its_cursor() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let jobs: Vec<_> = (0..7).map(|n| json!({"id":format!("j{n}")})).collect();
    let batch = client
        .post("/v1/queues/q/jobs/batch", json!({"jobs":jobs}))
        .await;
    assert_eq!(
        TestClient::json(&batch, 200)["jobs"]
            .as_array()
            .unwrap()
            .len(),
        7
    );

    let (mut seen, mut path) = (
        Vec::new(),
        "/v1/queues/q/jobs?limit=3&state=ready".to_owned(),
    );
    loop {
        let page = TestClient::json(&client.get(&path).await, 200);
        for job in page["jobs"].as_array().unwrap() {
            seen.push(job["id"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else {
            break;
        };
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        path = format!("/v1/queues/q/jobs?limit=3&state=ready&cursor={next}");
    }

    seen.sort();
    assert_eq!(seen, ["j0", "j1", "j2", "j3", "j4", "j5", "j6"]);
}

#[tokio::test]
async fn bytes_come_back_byte_for_byte() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let bytes: Vec<u8> = (0..=255).chain([0, 0xff, b'\n']).collect();
    let request = Request::post("/v1/queues/q/jobs?id=a&priority=1&max_attempts=3&header.x=y")
        .header("content-type", "application/octet-stream")
        .body(Body::from(bytes.clone()));
    let put = client.0.send(request.unwrap()).await.unwrap();
    let payload = client.get("/v1/queues/q/jobs/a/payload").await;
    let none = client.get("/v1/queues/q/jobs/a/result").await;

    assert_eq!(TestClient::json(&put, 201)["id"], "a");
    assert_eq!(payload.body, bytes);
    assert_eq!(payload.headers["content-type"], "application/octet-stream");
    assert_eq!(problem(&none), (404, "not_found".to_owned()));
    let job = TestClient::json(&client.get("/v1/queues/q/jobs/a").await, 200);
    assert_eq!(
        (&job["priority"], &job["headers"]["x"]),
        (&json!(1), &json!("y"))
    );
}

#[tokio::test]
async fn json_keeps_its_exact_text() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let job = r#"{"id":"a","payload":{"n" : 1.0, "n" : [ ]}}"#;
    let put = client.0.post("/v1/queues/q/jobs", None, job).await.unwrap();
    let payload = client.get("/v1/queues/q/jobs/a/payload").await;

    assert_eq!(put.status, 201);
    assert_eq!(payload.body, r#"{"n" : 1.0, "n" : [ ]}"#);
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_job() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut put = async |path: &str, body: Value| {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("idempotency-key", "order-7")
            .body(Body::from(body.to_string()));
        client.0.send(request.unwrap()).await.unwrap()
    };

    let first = TestClient::json(&put("/v1/queues/q/jobs", json!({"payload":"x"})).await, 201);
    let again = TestClient::json(&put("/v1/queues/q/jobs", json!({"payload":"x"})).await, 200);
    // An id of null is the same as no id.
    let null = put("/v1/queues/q/jobs", json!({"payload":"x","id":null})).await;
    assert_eq!(TestClient::json(&null, 200)["id"], first["id"]);
    let batch = json!({"jobs":[{"payload":"1"},{"payload":"2"}]});
    let many = TestClient::json(&put("/v1/queues/r/jobs/batch", batch.clone()).await, 200);
    let more = TestClient::json(&put("/v1/queues/r/jobs/batch", batch).await, 200);

    assert_eq!(
        (&first["id"], &again["duplicate"]),
        (&again["id"], &json!(true))
    );
    assert_ne!(many["jobs"][0]["id"], many["jobs"][1]["id"]);
    for at in [0, 1] {
        assert_eq!(more["jobs"][at]["duplicate"], true);
        assert_eq!(more["jobs"][at]["id"], many["jobs"][at]["id"]);
    }
}

/// Method, path, body, and the status and code of the error.
#[rustfmt::skip]
const ERRORS: [(&str, &str, &str, u16, &str); 20] = [
    ("GET", "/v1/queues/none", "null", 404, "not_found"),
    ("GET", "/v1/queues/q/jobs/none", "null", 404, "not_found"),
    ("GET", "/v1/queues/q%20q", "null", 400, "invalid"),
    ("GET", "/v1/queues/q/jobs/%ff", "null", 400, "invalid"),
    ("POST", "/v1/queues/q/fail", r#"{"jobs":[{"id":"a","token":"1-00000000"}],"permanent":true}"#, 400, "invalid"),
    ("POST", "/v1/queues/q/complete", r#"{"jobs":[{"id":"a","token":"1-00000000"}],"result":"x"}"#, 400, "invalid"),
    ("GET", "/v1/queues/q/jobs?limit=x", "null", 400, "invalid"),
    ("GET", "/v1/queues/q/jobs?limit=0", "null", 400, "invalid"),
    ("GET", "/v1/queues/q/jobs?what=x", "null", 400, "invalid"),
    ("GET", "/v1/queues/q/jobs?state=x", "null", 400, "invalid"),
    ("GET", "/v1/queues/q/jobs/a/wait?timeout=1ms", "null", 408, "timed_out"),
    ("POST", "/v1/queues/q/jobs", r#"{"queue":"r"}"#, 400, "invalid"),
    ("POST", "/v1/queues/q/jobs?x=y", "{}", 400, "invalid"),
    ("POST", "/v1/queues/q/jobs", "[]", 400, "invalid"),
    ("POST", "/v1/queues/q/jobs/a/complete", r#"{"token":"1-00000001"}"#, 409, "lease_lost"),
    ("POST", "/v1/queues/q/jobs/b/complete", r#"{"token":"1-00000001"}"#, 410, "gone"),
    ("POST", "/v1/queues/q/jobs/a/retry", "null", 409, "wrong_state"),
    ("GET", "/v1/nothing", "null", 404, "not_found"),
    ("GET", "/v1/queues/", "null", 404, "not_found"),
    ("PATCH", "/v1/queues/q", "null", 405, "method_not_allowed"),
];

#[tokio::test]
async fn errors_are_problem_documents_with_their_codes() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    for (method, path, body, status, code) in ERRORS {
        let reply = client.send(method, path, body.parse().unwrap()).await;
        let found = problem(&reply);
        assert_eq!(found, (status, code.to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn a_valid_request_id_is_echoed_and_an_invalid_one_is_not() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut echo = async |id: &str| {
        let request = Request::get("/healthz").header("x-request-id", id);
        let reply = client
            .0
            .send(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        reply.headers["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(echo("trace-1").await, "trace-1");
    for bad in ["a b", "\u{7f}".trim(), &"x".repeat(200)] {
        if !bad.is_empty() && !bad.contains('\u{7f}') {
            assert_ne!(echo(bad).await, bad);
        }
    }
}

#[tokio::test]
async fn the_docs_the_openapi_document_and_the_metrics_are_served() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client
        .post("/v1/queues/mail/jobs", json!({"payload":"x"}))
        .await;

    let document = TestClient::json(&client.get("/openapi.json").await, 200);
    let docs = client.get("/docs").await;
    let metrics = client.get("/metrics").await;
    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();

    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(docs.headers["content-type"], "text/html; charset=utf-8");
    assert!(
        docs.headers["content-security-policy"]
            .to_str()
            .unwrap()
            .contains("default-src 'none'")
    );
    assert!(
        metrics.contains("windlass_jobs{queue=\"mail\",state=\"ready\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("windlass_http_requests_total{class=\"2xx\"}"),
        "{metrics}"
    );
    assert_eq!(client.get("/healthz").await.body, "ok\n");
    assert_eq!(client.get("/readyz").await.body, "ready\n");
}

#[tokio::test]
async fn many_queues_do_not_make_many_series() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for n in 0..600 {
        let queue = windlass_core::QueueName::new(format!("q{n:03}")).unwrap();
        let job = windlass_core::NewJob::new("x");
        fixture.store.enqueue(&queue, vec![job]).await.unwrap();
    }

    let metrics = client.get("/metrics").await;

    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    let ready = metrics
        .lines()
        .filter(|line| line.contains("state=\"ready\""));
    assert_eq!(ready.count(), 501);
    let others = "windlass_jobs{queue=\"(other)\",state=\"ready\"} 100";
    assert!(metrics.contains(others), "{metrics}");
}
