//! The delayed queue's route.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_core::{Clock, JobState, QueueName, SystemClock};

use crate::fixture::{Caller, Scene};

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds are far below 2^53"
)]
fn now() -> f64 {
    (SystemClock.now_us() / 1000) as f64 / 1000.0
}

#[tokio::test]
async fn a_job_is_put_off_and_its_payload_comes_back_unchanged() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    for (payload, kept, is_json) in [
        (json!("5"), "5", false),
        (json!(5), "5", true),
        (json!({"a":[1,null]}), r#"{"a":[1,null]}"#, true),
        (json!(null), "null", true),
        (json!(""), "", false),
    ] {
        let job = json!({"payload":payload,"dueTime":now() + 100.0});
        let reply = caller.post("/", job).await;
        let media = reply.headers["content-type"].to_str().unwrap();
        assert_eq!(media, "application/json; charset=utf-8");
        let id = Caller::json(&reply, 200)["jobId"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!((id.len(), id.to_lowercase()), (26, id.clone()));

        let path = format!("/v1/queues/delayed/jobs/{id}");
        let job = Caller::json(&caller.get(&path).await, 200);

        assert_eq!(
            (&job["state"], &job["payload"]),
            (&json!("scheduled"), &json!(kept))
        );
        let said = job["headers"]["content-type"] == "application/json";
        assert_eq!(said, is_json, "{payload}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_in_a_message_and_nothing_is_stored() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let later = now() + 100.0;
    for body in [
        json!({"payload":"x"}),
        json!({"dueTime":later}),
        json!({"payload":"x","dueTime":"soon"}),
        json!({"payload":"x","dueTime":null}),
        json!({"payload":"x","dueTime":1}),
        json!({"payload":"x","dueTime":now() - 1.0}),
        json!({"payload":"x","dueTime":1e300}),
        json!({"payload":"x","dueTime":later,"delay":"1s"}),
        json!({"payload":"x","dueTime":later,"extra":1}),
        json!([1]),
    ] {
        let reply = caller.post("/", body.clone()).await;
        let said = Caller::json(&reply, 400);
        assert!(said["message"].is_string(), "{body} {said}");
    }
    let reply = caller.get("/").await;
    assert_eq!(Caller::json(&reply, 404)["message"], "not found");
    assert_eq!(scene.store.queues().await.unwrap(), []);
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_job() {
    let scene = Scene::new().await;
    let mut caller = scene.client().await;
    let mut put = async |key: &str, due: f64| {
        let body = json!({"payload":"x","dueTime":due}).to_string();
        let request = Request::post("/")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body));
        caller.0.ask(request.unwrap()).await.unwrap()
    };

    let due = now() + 100.0;
    let first = Caller::json(&put("order-7", due).await, 200);
    let again = Caller::json(&put("order-7", due).await, 200);
    // Whoever repeats it late is told the same; whoever comes with it late is refused.
    let late = Caller::json(&put("order-7", now() - 1.0).await, 200);
    let new = put("order-8", now() - 1.0).await;
    let other = Caller::json(&put("order-9", due).await, 200);
    let no_key = put("", due).await;

    assert_eq!((&again, &late), (&first, &first));
    assert!(Caller::json(&new, 400)["message"].is_string());
    assert_ne!(other["jobId"], first["jobId"]);
    assert!(Caller::json(&no_key, 400)["message"].is_string());
    let queue = QueueName::new("delayed").unwrap();
    let stats = scene.store.stats(&queue).await.unwrap().unwrap();
    assert_eq!(stats.scheduled, 2);
}

#[tokio::test]
async fn the_queue_is_settable_and_pickup_shows() {
    let name = QueueName::new("later").unwrap();
    let queue = name.clone();
    let scene = Scene::with(move |options| options.delayed_queue = queue).await;
    let mut caller = scene.client().await;
    let ms = (now() * 1000.0 + 60_000.0).floor();
    let reply = caller.post("/", json!({"payload":"x","dueTime":ms})).await;
    let id = Caller::json(&reply, 200)["jobId"]
        .as_str()
        .unwrap()
        .to_owned();
    caller
        .post(&format!("/v1/queues/later/jobs/{id}/promote"), Value::Null)
        .await;
    caller.post("/v1/queues/later/claim", Value::Null).await;

    let job = Caller::json(
        &caller.get(&format!("/v1/queues/later/jobs/{id}")).await,
        200,
    );

    assert_eq!(job["state"], JobState::Running.as_str());
    assert!(job["started_at"].is_string());
}
