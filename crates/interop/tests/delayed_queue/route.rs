//! The HTTP route, on a server with a memory store.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use windlass_core::{Clock, JobState, QueueName, Store, SystemClock};
use windlass_interop::delayed_queue::DelayedQueueRoute;
use windlass_server::client::Reply;
use windlass_server::{CancellationToken, HttpClient, HttpServer, Options, Tokens};
use windlass_store_memory::MemoryStore;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Its SHA-256, as in a token file.
const DIGEST: &str = "3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9";

/// A running server. Stops when dropped.
struct Fixture {
    url: String,
    store: Arc<dyn Store>,
    stop: CancellationToken,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Fixture {
    async fn new() -> Self {
        Self::with("delayed", Tokens::default()).await
    }

    async fn with(queue: &str, tokens: Tokens) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        let queue = QueueName::new(queue).unwrap();
        options.extra = Some(Arc::new(DelayedQueueRoute::new(queue)));
        options.tokens = tokens;
        let server = HttpServer::bind(Arc::clone(&store), options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self { url, store, stop }
    }

    async fn client(&self) -> TestClient {
        TestClient(HttpClient::connect(&self.url).await.unwrap())
    }
}

struct TestClient(HttpClient);

impl TestClient {
    async fn get(&mut self, path: &str) -> Reply {
        self.0.get(path, None).await.unwrap()
    }

    async fn post(&mut self, path: &str, body: Value) -> Reply {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.0.post(path, None, body).await.unwrap()
    }

    /// Asserts the status of a reply and returns its JSON.
    #[track_caller]
    fn json(reply: &Reply, status: u16) -> Value {
        let text = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, status, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds are far below 2^53"
)]
fn now() -> f64 {
    (SystemClock.now_us() / 1000) as f64 / 1000.0
}

#[tokio::test]
async fn a_job_is_scheduled_and_its_payload_comes_back_unchanged() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (payload, stored, is_json) in [
        (json!("5"), "5", false),
        (json!(5), "5", true),
        (json!({"a":[1,null]}), r#"{"a":[1,null]}"#, true),
        (json!(null), "null", true),
        (json!(""), "", false),
    ] {
        let job = json!({"payload":payload,"dueTime":now() + 100.0});
        let reply = client.post("/", job).await;
        let media_type = reply.headers["content-type"].to_str().unwrap();
        assert_eq!(media_type, "application/json; charset=utf-8");
        let id = TestClient::json(&reply, 200)["jobId"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!((id.len(), id.to_lowercase()), (26, id.clone()));

        let path = format!("/v1/queues/delayed/jobs/{id}");
        let job = TestClient::json(&client.get(&path).await, 200);

        assert_eq!(
            (&job["state"], &job["payload"]),
            (&json!("scheduled"), &json!(stored))
        );
        let has_json_type = job["headers"]["content-type"] == "application/json";
        assert_eq!(has_json_type, is_json, "{payload}");
    }
}

#[tokio::test]
async fn an_invalid_request_has_a_message_and_stores_nothing() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let later = now() + 100.0;
    for body in [
        json!({"payload":"x"}),
        json!({"dueTime":later}),
        json!({"payload":"x","dueTime":"soon"}),
        json!({"payload":"x","dueTime":null}),
        json!({"payload":"x","dueTime":1}),
        json!({"payload":"x","dueTime":now() - 1.0}),
        json!({"payload":"x","dueTime":1e300}),
        json!([1]),
    ] {
        let reply = client.post("/", body.clone()).await;
        let reply_body = TestClient::json(&reply, 400);
        assert!(reply_body["message"].is_string(), "{body} {reply_body}");
    }
    assert_eq!(fixture.store.queues().await.unwrap(), []);
}

#[tokio::test]
async fn other_fields_are_ignored() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let due = SystemClock.now_us() / 1_000_000 + 100;
    for other in [
        json!({"extra":1}),
        json!({"jobId":"a"}),
        json!({"delay":"1s"}),
        json!({"at":7}),
        json!({"id":{"a":1}}),
        json!({"priority":-1}),
    ] {
        let mut body = json!({"payload":"x","dueTime":due});
        body.as_object_mut()
            .unwrap()
            .extend(other.as_object().unwrap().clone());

        let reply = TestClient::json(&client.post("/", body).await, 200);

        let id = reply["jobId"].as_str().unwrap();
        let path = format!("/v1/queues/delayed/jobs/{id}");
        let job = TestClient::json(&client.get(&path).await, 200);
        assert_eq!((id.len(), &job["priority"]), (26, &json!(5)), "{other}");
        let due_at = windlass_api::timestamp::parse(job["due_at"].as_str().unwrap()).unwrap();
        assert_eq!(due_at.as_ms(), due * 1000, "{other}");
    }
}

#[tokio::test]
async fn an_unknown_route_or_method_has_a_message() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let put = Request::put("/").body(Body::empty()).unwrap();
    let put = client.0.send(put).await.unwrap();
    let others = [client.get("/jobs").await, client.get("/v1/nothing").await];
    for reply in [put].iter().chain(&others) {
        let reply = TestClient::json(reply, 404);
        assert_eq!(reply["message"], "not found", "{reply}");
    }
    let reply = client.post("/v1/queues", json!({})).await;
    let reply = TestClient::json(&reply, 405);
    assert_eq!(reply["message"], reply["detail"]);
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_job() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut put = async |key: &str, due: f64| {
        let body = json!({"payload":"x","dueTime":due}).to_string();
        let request = Request::post("/")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(Body::from(body));
        client.0.send(request.unwrap()).await.unwrap()
    };

    let due = now() + 100.0;
    let first = TestClient::json(&put("order-7", due).await, 200);
    let again = TestClient::json(&put("order-7", due).await, 200);
    // A late retry gets the original reply; a late first request is rejected.
    let late = TestClient::json(&put("order-7", now() - 1.0).await, 200);
    let new = put("order-8", now() - 1.0).await;
    let other = TestClient::json(&put("order-9", due).await, 200);
    let no_key = put("", due).await;

    assert_eq!((&again, &late), (&first, &first));
    assert!(TestClient::json(&new, 400)["message"].is_string());
    assert_ne!(other["jobId"], first["jobId"]);
    assert!(TestClient::json(&no_key, 400)["message"].is_string());
    let queue = QueueName::new("delayed").unwrap();
    let stats = fixture.store.stats(&queue).await.unwrap().unwrap();
    assert_eq!(stats.scheduled, 2);
}

#[tokio::test]
async fn the_queue_can_be_set_and_the_start_of_a_job_shows() {
    let fixture = Fixture::with("later", Tokens::default()).await;
    let mut client = fixture.client().await;
    let ms = (now() * 1000.0 + 60_000.0).floor();
    let reply = client.post("/", json!({"payload":"x","dueTime":ms})).await;
    let id = TestClient::json(&reply, 200)["jobId"]
        .as_str()
        .unwrap()
        .to_owned();
    client
        .post(&format!("/v1/queues/later/jobs/{id}/promote"), Value::Null)
        .await;
    client.post("/v1/queues/later/claim", Value::Null).await;

    let job = TestClient::json(
        &client.get(&format!("/v1/queues/later/jobs/{id}")).await,
        200,
    );

    assert_eq!(job["state"], JobState::Running.as_str());
    assert!(job["started_at"].is_string());
}

#[tokio::test]
async fn the_route_is_behind_the_guard_and_in_the_documents() {
    let fixture = Fixture::with("delayed", Tokens::single(SECRET).unwrap()).await;
    let mut client = fixture.client().await;

    let rejected = client.post("/", json!({"payload":"x"})).await;
    let media_type = rejected.headers["content-type"].to_str().unwrap();
    assert_eq!(media_type, "application/json; charset=utf-8");
    let body = TestClient::json(&rejected, 401);
    assert_eq!(body["message"], body["detail"]);
    let other = TestClient::json(&client.get("/v1/queues").await, 401);
    assert_eq!(other["message"], Value::Null);

    let openapi = client.0.get("/openapi.json", Some(SECRET)).await.unwrap();
    let openapi = TestClient::json(&openapi, 200);
    assert_eq!(openapi["paths"]["/"]["post"]["operationId"], "delayed");
    let page = client.0.get("/docs", Some(SECRET)).await.unwrap();
    assert!(String::from_utf8_lossy(&page.body).contains("Delayed Queue App"));
}

#[tokio::test]
async fn a_token_needs_the_scope_and_the_queue() {
    for (scopes, queues, status) in [
        ("enqueue", "mail", 403),
        ("read", "*", 403),
        ("enqueue", "delayed", 200),
    ] {
        let tokens = Tokens::parse(&format!("ann {DIGEST} {scopes} {queues}")).unwrap();
        let fixture = Fixture::with("delayed", tokens).await;
        let mut client = fixture.client().await;
        let body = json!({"payload":"x","dueTime":4_000_000_000_u64}).to_string();

        let reply = client.0.post("/", Some(SECRET), body).await.unwrap();

        let body = TestClient::json(&reply, status);
        assert_eq!(body["message"].is_string(), status == 403, "{body}");
    }
}
