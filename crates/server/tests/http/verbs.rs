//! Every verb over HTTP, and how replies look.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::fixture::{Caller, Scene, problem};

#[tokio::test]
async fn a_job_goes_its_whole_way() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;

    let job = json!({"id":"a","payload":{"n":1},"priority":2,"kind":"letter"});
    let job = Caller::json(&caller.post("/v1/queues/q/jobs", job).await, 201);
    let worker = json!({"name":"w","queues":["q"]});
    let worker = Caller::json(&caller.post("/v1/workers", worker).await, 200);
    let worker = worker["worker"].as_str().unwrap().to_owned();
    let claim = json!({"max":5,"worker":worker});
    let claimed = Caller::json(&caller.post("/v1/queues/q/claim", claim).await, 200);
    let token = claimed[0]["token"].clone();
    let renewed = caller
        .post("/v1/queues/q/renew", json!({"token":token}))
        .await;
    let progress = json!({"token":token,"fraction":0.5,"message":"half"});
    let noted = caller.post("/v1/queues/q/jobs/a/progress", progress).await;
    let heartbeat = json!({"running":[{"queue":"q","id":"a","token":token}]});
    let heartbeat = caller
        .post(&format!("/v1/workers/{worker}/heartbeat"), heartbeat)
        .await;
    let seen = Caller::json(&caller.get("/v1/queues/q/jobs/a").await, 200);
    let done = json!({"token":token,"result":{"ok":true}});
    let done = caller.post("/v1/queues/q/jobs/a/complete", done).await;

    assert_eq!(
        (&job["state"], &job["duplicate"]),
        (&json!("ready"), &json!(false))
    );
    assert_eq!(claimed[0]["payload"], r#"{"n":1}"#);
    assert_eq!(claimed[0]["headers"]["content-type"], "application/json");
    assert_eq!(Caller::json(&renewed, 200)["cancel"], json!([]));
    assert_eq!(Caller::json(&noted, 200)["outcome"], "noted");
    assert_eq!(Caller::json(&heartbeat, 200)["command"], "continue");
    assert_eq!(
        (&seen["state"], &seen["progress"]),
        (&json!("running"), &json!(0.5))
    );
    assert_eq!(Caller::json(&done, 200)["outcome"], "completed");
    let ended = Caller::json(
        &caller.get("/v1/queues/q/jobs/a/wait?timeout=60s").await,
        200,
    );
    assert_eq!(ended["state"], "succeeded");
}

#[tokio::test]
async fn attempts_end_in_every_way() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for (verb, body, state) in [
        ("fail", json!({"error":"no"}), "scheduled"),
        ("fail", json!({"error":"no","permanent":true}), "dead"),
        ("release", json!({}), "ready"),
        ("snooze", json!({"delay":"1h"}), "scheduled"),
    ] {
        let queue = format!("/v1/queues/{verb}-{state}");
        caller
            .post(&format!("{queue}/jobs"), json!({"id":"a"}))
            .await;
        let claimed = caller.post(&format!("{queue}/claim"), Value::Null).await;
        let mut body = body;
        body["token"] = Caller::json(&claimed, 200)[0]["token"].clone();

        let ended = caller.post(&format!("{queue}/jobs/a/{verb}"), body).await;

        assert_eq!(ended.status, 200, "{verb} {ended:?}");
        let job = Caller::json(&caller.get(&format!("{queue}/jobs/a")).await, 200);
        assert_eq!(job["state"], state, "{verb}");
    }
}

/// How, where, with what, and a field of the answer with its value.
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
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for id in ["a", "b", "c"] {
        let job = json!({"id":id,"delay":"1h"});
        caller.post("/v1/queues/q/jobs", job).await;
    }
    for (method, path, body, field, value) in CHANGES {
        let reply = caller.ask(method, path, body.parse().unwrap()).await;
        let value: Value = value.parse().unwrap();
        assert_eq!(Caller::json(&reply, 200)[field], value, "{method} {path}");
    }
    let queues = Caller::json(&caller.get("/v1/queues").await, 200);
    assert_eq!(queues[0]["queue"], "q");
}

#[tokio::test]
async fn workers_are_listed_told_and_failed() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let worker = json!({"worker":"w-1","queues":["q"]});
    caller.post("/v1/workers", worker).await;
    caller.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    caller
        .post("/v1/queues/q/claim", json!({"worker":"w-1"}))
        .await;

    let told = caller
        .post("/v1/workers/w-1/command", json!({"command":"pause"}))
        .await;
    let heartbeat = caller.post("/v1/workers/w-1/heartbeat", json!({})).await;
    let listed = Caller::json(&caller.get("/v1/workers").await, 200);
    let left = caller.post("/v1/workers/w-1/leave", Value::Null).await;
    let failed = caller.post("/v1/workers/w-2/fail", Value::Null).await;

    assert_eq!(Caller::json(&told, 200)["command"], "pause");
    assert_eq!(Caller::json(&heartbeat, 200)["command"], "pause");
    assert_eq!(listed[0]["id"], "w-1");
    assert_eq!(Caller::json(&left, 200)["released"], 1);
    assert_eq!(problem(&failed), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn a_dispatched_job_is_accepted() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    caller.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    let claimed = caller
        .post("/v1/queues/q/claim", json!({"mode":"dispatch"}))
        .await;
    let token = Caller::json(&claimed, 200)[0]["token"].clone();

    let accepted = caller
        .post("/v1/queues/q/jobs/a/accept", json!({"token":token}))
        .await;

    assert_eq!(Caller::json(&accepted, 200)["outcome"], "accepted");
}

#[tokio::test]
async fn a_listing_goes_on_where_it_stopped() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let jobs: Vec<_> = (0..7).map(|n| json!({"id":format!("j{n}")})).collect();
    let batch = caller
        .post("/v1/queues/q/jobs/batch", json!({"jobs":jobs}))
        .await;
    assert_eq!(
        Caller::json(&batch, 200)["jobs"].as_array().unwrap().len(),
        7
    );

    let (mut seen, mut path) = (
        Vec::new(),
        "/v1/queues/q/jobs?limit=3&state=ready".to_owned(),
    );
    loop {
        let page = Caller::json(&caller.get(&path).await, 200);
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
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let bytes: Vec<u8> = (0..=255).chain([0, 0xff, b'\n']).collect();
    let request = Request::post("/v1/queues/q/jobs?id=a&priority=1&max_attempts=3&header.x=y")
        .header("content-type", "application/octet-stream")
        .body(Body::from(bytes.clone()));
    let put = caller.0.ask(request.unwrap()).await.unwrap();
    let payload = caller.get("/v1/queues/q/jobs/a/payload").await;
    let none = caller.get("/v1/queues/q/jobs/a/result").await;

    assert_eq!(Caller::json(&put, 201)["id"], "a");
    assert_eq!(payload.body, bytes);
    assert_eq!(payload.headers["content-type"], "application/octet-stream");
    assert_eq!(problem(&none), (404, "not_found".to_owned()));
    let job = Caller::json(&caller.get("/v1/queues/q/jobs/a").await, 200);
    assert_eq!(
        (&job["priority"], &job["headers"]["x"]),
        (&json!(1), &json!("y"))
    );
}

#[tokio::test]
async fn json_keeps_its_exact_text() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let job = r#"{"id":"a","payload":{"n" : 1.0, "n" : [ ]}}"#;
    let put = caller.0.post("/v1/queues/q/jobs", None, job).await.unwrap();
    let payload = caller.get("/v1/queues/q/jobs/a/payload").await;

    assert_eq!(put.status, 201);
    assert_eq!(payload.body, r#"{"n" : 1.0, "n" : [ ]}"#);
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_job() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let mut put = async |path: &str, body: Value| {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("idempotency-key", "order-7")
            .body(Body::from(body.to_string()));
        caller.0.ask(request.unwrap()).await.unwrap()
    };

    let first = Caller::json(&put("/v1/queues/q/jobs", json!({"payload":"x"})).await, 201);
    let again = Caller::json(&put("/v1/queues/q/jobs", json!({"payload":"x"})).await, 200);
    // No id is none, however it is said.
    let null = put("/v1/queues/q/jobs", json!({"payload":"x","id":null})).await;
    assert_eq!(Caller::json(&null, 200)["id"], first["id"]);
    let batch = json!({"jobs":[{"payload":"1"},{"payload":"2"}]});
    let many = Caller::json(&put("/v1/queues/r/jobs/batch", batch.clone()).await, 200);
    let more = Caller::json(&put("/v1/queues/r/jobs/batch", batch).await, 200);

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

/// How, where, with what, and the status and code of the refusal.
#[rustfmt::skip]
const REFUSALS: [(&str, &str, &str, u16, &str); 20] = [
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
async fn refusals_are_problems_with_their_codes() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    caller.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    for (method, path, body, status, code) in REFUSALS {
        let reply = caller.ask(method, path, body.parse().unwrap()).await;
        let found = problem(&reply);
        assert_eq!(found, (status, code.to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn an_id_of_the_caller_is_echoed_and_a_bad_one_is_not() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let mut echo = async |id: &str| {
        let request = Request::get("/healthz").header("x-request-id", id);
        let reply = caller
            .0
            .ask(request.body(Body::empty()).unwrap())
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
async fn pages_for_people_and_machines_are_there() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    caller
        .post("/v1/queues/mail/jobs", json!({"payload":"x"}))
        .await;

    let document = Caller::json(&caller.get("/openapi.json").await, 200);
    let docs = caller.get("/docs").await;
    let metrics = caller.get("/metrics").await;
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
    assert_eq!(caller.get("/healthz").await.body, "ok\n");
    assert_eq!(caller.get("/readyz").await.body, "ready\n");
}

#[tokio::test]
async fn many_queues_do_not_make_many_series() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for n in 0..600 {
        let queue = windlass_core::QueueName::new(format!("q{n:03}")).unwrap();
        let job = windlass_core::NewJob::new("x");
        scene.store.enqueue(&queue, vec![job]).await.unwrap();
    }

    let metrics = caller.get("/metrics").await;

    let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
    let ready = metrics
        .lines()
        .filter(|line| line.contains("state=\"ready\""));
    assert_eq!(ready.count(), 501);
    let others = "windlass_jobs{queue=\"(other)\",state=\"ready\"} 100";
    assert!(metrics.contains(others), "{metrics}");
}
