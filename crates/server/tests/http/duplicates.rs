//! Replacing and postponing over HTTP: statuses, replies, and requests that are repeated.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_server::client::Reply;

use crate::fixture::{Fixture, TestClient, problem};

const JOBS: &str = "/v1/queues/q/jobs";

/// Enqueues with an `Idempotency-Key`.
async fn repeatable(client: &mut TestClient, key: &str, path: &str, body: &Value) -> Reply {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .header("idempotency-key", key)
        .body(Body::from(body.to_string()));
    client.0.send(request.unwrap()).await.unwrap()
}

async fn payload(client: &mut TestClient, id: &Value) -> Value {
    let path = format!("{JOBS}/{}", id.as_str().unwrap());
    TestClient::json(&client.get(&path).await, 200)["payload"].clone()
}

#[tokio::test]
async fn only_a_new_job_is_created() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut put = async |body: Value, status| {
        let reply = client.post(JOBS, body).await;
        TestClient::json(&reply, status)
    };

    let job = json!({"id":"a","payload":"1","unique_key":"k","delay":"1m"});
    let first = put(job, 201).await;
    let replaced = put(
        json!({"payload":"2","unique_key":"k","on_duplicate":"replace"}),
        200,
    )
    .await;
    let later = json!({"unique_key":"k","on_duplicate":"postpone","delay":"2m"});
    let postponed = put(later, 200).await;
    let duplicate = put(json!({"unique_key":"k"}), 200).await;

    let flags = |reply: &Value| {
        ["duplicate", "replaced", "postponed"].map(|name| reply[name] == json!(true))
    };
    assert_eq!(flags(&first), [false, false, false]);
    assert_eq!(flags(&replaced), [false, true, false]);
    assert_eq!(flags(&postponed), [false, false, true]);
    assert_eq!(flags(&duplicate), [true, false, false]);
    for reply in [replaced, postponed, duplicate] {
        assert_eq!(
            (&reply["id"], &reply["state"]),
            (&json!("a"), &json!("scheduled"))
        );
    }
    assert_eq!(payload(&mut client, &json!("a")).await, "2");
}

#[tokio::test]
async fn a_repeated_request_never_overwrites_a_newer_one() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let job = |text: &str| json!({"payload":text,"unique_key":"k","on_duplicate":"replace,postpone","delay":"1m"});
    let stored = repeatable(&mut client, "1", JOBS, &job("first")).await;
    let stored = TestClient::json(&stored, 201);
    for (key, text) in [("2", "second"), ("3", "third")] {
        let reply = repeatable(&mut client, key, JOBS, &job(text)).await;
        assert_eq!(TestClient::json(&reply, 200)["replaced"], true);
    }

    let stored_again = repeatable(&mut client, "1", JOBS, &job("first")).await;
    let replaced_again = repeatable(&mut client, "2", JOBS, &job("second")).await;
    let path = format!("{JOBS}/batch");
    let batch = json!({"jobs":[job("fourth")]});
    repeatable(&mut client, "4", &path, &batch).await;
    repeatable(&mut client, "5", JOBS, &job("fifth")).await;
    let batch_again = repeatable(&mut client, "4", &path, &batch).await;

    assert_eq!(TestClient::json(&stored_again, 200)["duplicate"], true);
    assert_eq!(TestClient::json(&replaced_again, 200)["replaced"], true);
    assert_eq!(
        TestClient::json(&batch_again, 200)["jobs"][0]["replaced"],
        true
    );
    assert_eq!(payload(&mut client, &stored["id"]).await, "fifth");
}

#[tokio::test]
async fn a_request_that_replaces_makes_no_second_job_after_the_first_ended() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let job = json!({"payload":"x","unique_key":"k","on_duplicate":"replace"});
    let first = TestClient::json(&repeatable(&mut client, "1", JOBS, &job).await, 201);
    let claimed = client.post("/v1/queues/q/claim", json!({})).await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();
    let id = first["id"].as_str().unwrap();
    let path = format!("{JOBS}/{id}/complete");
    assert_eq!(client.post(&path, json!({"token":token})).await.status, 200);

    let again = TestClient::json(&repeatable(&mut client, "1", JOBS, &job).await, 200);

    assert_eq!(
        (&again["id"], &again["duplicate"], &again["state"]),
        (&first["id"], &json!(true), &json!("succeeded"))
    );
}

#[tokio::test]
async fn an_imported_line_is_not_applied_twice() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut import = async |key: &str, text: &str| {
        let line = json!({"payload":text,"unique_key":"k","on_duplicate":"replace"});
        let request = Request::post(format!("{JOBS}/import"))
            .header("content-type", "application/x-ndjson")
            .header("idempotency-key", key)
            .body(Body::from(line.to_string()));
        let reply = client.0.send(request.unwrap()).await.unwrap();
        serde_json::from_slice::<Value>(&reply.body).unwrap()
    };
    let first = import("1", "first").await;
    assert_eq!(import("2", "second").await["replaced"], true);

    assert_eq!(import("1", "first").await["duplicate"], true);

    assert_eq!(payload(&mut client, &first["id"]).await, "second");
}

#[tokio::test]
async fn a_held_key_is_freed_over_http() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let job = || json!({"unique_key":"k","unique_for":"1h"});
    let first = TestClient::json(&client.post(JOBS, job()).await, 201);
    let claimed = client.post("/v1/queues/q/claim", json!({})).await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();
    let id = first["id"].as_str().unwrap().to_owned();
    client
        .post(&format!("{JOBS}/{id}/complete"), json!({"token":token}))
        .await;
    let held = TestClient::json(&client.post(JOBS, job()).await, 200);
    assert_eq!(
        (&held["id"], &held["state"]),
        (&first["id"], &json!("succeeded"))
    );

    let key = json!({"unique_key":"k"});
    let freed = client.post("/v1/queues/q/delete", key.clone()).await;

    assert_eq!(TestClient::json(&freed, 200)["outcome"], "deleted");
    let missing = client.post("/v1/queues/q/delete", key).await;
    assert_eq!(problem(&missing), (404, "not_found".to_owned()));
    TestClient::json(&client.post(JOBS, job()).await, 201);
}

#[tokio::test]
async fn contradictions_are_rejected_and_nothing_is_stored() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for body in [
        json!({"on_duplicate":"overwrite"}),
        json!({"unique_for":"1h"}),
        json!({"unique_key":"k","unique_for":"1h","unique_until":"start"}),
        json!({"unique_key":"k","postpone_max":"1h"}),
        json!({"unique_key":"k","unique_for":"-1h"}),
        json!({"unique_key":"k","unique_for":"36501d"}),
    ] {
        let reply = client.post(JOBS, body.clone()).await;
        assert_eq!(problem(&reply), (400, "invalid".to_owned()), "{body}");
    }
    assert_eq!(client.get("/v1/queues/q").await.status, 404);
}
