//! An export can be imported unchanged, to move jobs from one store to another.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_core::store::{Headers, Kind, UniqueKey, UniqueUntil};
use windlass_core::{Due, Job, JobId, JobState, NewJob, Priority, QueueName, Timestamp};

use crate::fixture::{Fixture, TestClient};

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

/// Jobs with every kind of field.
fn jobs() -> Vec<NewJob> {
    let id = |text: &str| JobId::new(text).unwrap();
    let mut headers = Headers::default();
    headers.set("content-type", "application/json").unwrap();
    headers.set("trace", "a \"b\" \\ <c> é").unwrap();
    let far = Timestamp::from_ms(4_000_000_000_123);
    let named = NewJob::new(r#"{"n" : 1.0, "n" : [ ]}"#)
        .id(id("named: \"1\" <é>"))
        .kind(Kind::new("letter & more").unwrap())
        .priority(Priority::new(0).unwrap())
        .headers(headers)
        .timeout(Duration::from_millis(1500))
        .expires(Due::At(far))
        .unique_key(UniqueKey::new("only one").unwrap())
        .unique_for(Duration::from_millis(90_500));
    let start = NewJob::new("start").unique_key(UniqueKey::new("start").unwrap());
    let mut attempts = NewJob::new("x").id(id("attempts"));
    attempts.retry = attempts.retry.max_attempts(3);
    vec![
        NewJob::new("plain").id(id("plain")),
        named,
        start
            .unique_until(UniqueUntil::Start)
            .delay(Duration::from_secs(9)),
        attempts,
        NewJob::new((0..=255).collect::<Vec<u8>>()).id(id("bytes")),
        NewJob::new("").id(id("empty")),
        // Every byte is escaped as six.
        NewJob::new(vec![1; 1024 * 1024]).id(id("escaped")),
        NewJob::new("later").at(far),
        NewJob::new("sooner")
            .id(id("sooner"))
            .delay(Duration::from_secs(3600)),
    ]
}

/// The fields that must be the same in both stores.
fn comparable(job: &Job) -> Value {
    json!({
        "id": job.id.as_str(),
        "payload": job.payload.as_deref(),
        "kind": job.kind.as_ref().map(Kind::as_str),
        "priority": job.priority.level(),
        "headers": job.headers.iter().collect::<Vec<_>>(),
        "max_attempts": job.retry.max_attempts,
        "timeout": job.timeout,
        "expires_at": job.expires_at.map(Timestamp::as_ms),
        "unique_key": job.unique_key.as_ref().map(UniqueKey::as_str),
        // Jobs that are already due are imported as due now.
        "due_at": (job.state == JobState::Scheduled).then(|| job.due_at.as_ms()),
    })
}

async fn all(fixture: &Fixture, ids: &[JobId]) -> Vec<Value> {
    let mut found = Vec::new();
    for id in ids {
        let job = fixture.store.get(&queue(), id).await.unwrap().unwrap();
        found.push(comparable(&job));
    }
    found
}

async fn import(fixture: &Fixture, text: impl Into<Body>) -> Vec<Value> {
    let request = Request::post("/v1/queues/q/jobs/import")
        .header("content-type", "application/x-ndjson")
        .body(text.into());
    let mut client = fixture.client().await;
    let reply = client.0.send(request.unwrap()).await.unwrap();
    let text = String::from_utf8(reply.body.to_vec()).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn exported_jobs_are_the_same_where_they_are_imported() {
    let (from, to) = (Fixture::new().await, Fixture::new().await);
    let jobs = jobs();
    let ids: Vec<_> = jobs.iter().map(|job| job.id.clone()).collect();
    from.store.enqueue(&queue(), jobs).await.unwrap();
    let mut client = from.client().await;
    let claim = client
        .post("/v1/queues/q/claim", json!({"lease":"1h"}))
        .await;
    let claimed = TestClient::json(&claim, 200)[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();

    let exported = client.get("/v1/queues/q/jobs/export").await;
    let replies = import(&to, exported.body.clone()).await;
    let again = import(&to, exported.body).await;

    assert_eq!(replies.len(), ids.len());
    for (reply, again) in replies.iter().zip(&again) {
        assert_eq!(reply["duplicate"], false, "{reply}");
        assert_eq!(again["duplicate"], true, "{again}");
    }
    assert_eq!(all(&to, &ids).await, all(&from, &ids).await);
    // The running job is ready again.
    let claimed = JobId::new(claimed).unwrap();
    let claimed = to.store.get(&queue(), &claimed).await.unwrap().unwrap();
    assert_eq!((claimed.state, claimed.attempt), (JobState::Ready, 1));
}

#[tokio::test]
async fn finished_jobs_are_reported_and_not_run_again() {
    let (from, to) = (Fixture::new().await, Fixture::new().await);
    let mut client = from.client().await;
    let keep = json!({"settings":{"keep_succeeded":"all"}});
    client.send("PUT", "/v1/queues/q/settings", keep).await;
    for id in ["done", "off", "timeouts"] {
        client.post("/v1/queues/q/jobs", json!({"id":id})).await;
    }
    let claimed = client.post("/v1/queues/q/claim", json!({})).await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();
    let done = json!({"token":token,"result":"yes"});
    client.post("/v1/queues/q/jobs/done/complete", done).await;
    client
        .post("/v1/queues/q/jobs/off/cancel", Value::Null)
        .await;

    let everything = client.get("/v1/queues/q/jobs/export").await;
    let replies = import(&to, everything.body.clone()).await;
    let path = "/v1/queues/q/jobs/export?state=scheduled,ready,running";
    let live = client.get(path).await;
    let text = String::from_utf8(everything.body.to_vec()).unwrap();
    let again = text.replace(r#""state":"cancelled","#, "");
    let again = import(&to, again).await;

    let count =
        |replies: &[Value], is: fn(&Value) -> bool| replies.iter().filter(|it| is(it)).count();
    let is_rejected = |reply: &Value| reply["error"]["code"] == "invalid";
    assert_eq!((replies.len(), count(&replies, is_rejected)), (3, 2));
    assert_eq!(count(&again, is_rejected), 1);
    let live = String::from_utf8(live.body.to_vec()).unwrap();
    assert_eq!(live.lines().count(), 1, "{live}");
    assert!(live.contains(r#""id":"timeouts""#), "{live}");
    let stats = to.store.stats(&queue()).await.unwrap().unwrap();
    assert_eq!(stats.ready, 2);
}
