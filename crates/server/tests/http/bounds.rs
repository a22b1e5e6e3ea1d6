//! Every limit of the HTTP API: the largest accepted value, and one more.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use windlass_core::{NewJob, QueueName};

use crate::fixture::{Fixture, LONG, TestClient, problem, secret};

const JOBS: &str = "/v1/queues/q/jobs";
const MIB: usize = 1024 * 1024;

/// Sends only the headers of a request and returns the status. A client that sends a rejected body
/// might not get to read the response.
async fn status_for_headers(fixture: &Fixture, head: &str) -> u16 {
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut line = [0; 12];
    let read = timeout(LONG, stream.read_exact(&mut line)).await;
    read.expect("a response").unwrap();
    let status = std::str::from_utf8(&line[9..]).unwrap();
    status.parse().unwrap()
}

async fn status_for_length(fixture: &Fixture, path: &str, media: &str, bytes: usize) -> u16 {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media}\r\ncontent-length: {bytes}\r\n\r\n"
    );
    status_for_headers(fixture, &head).await
}

async fn put(
    client: &mut TestClient,
    path: &str,
    media: &str,
    body: impl Into<Body>,
) -> (u16, Value) {
    let request = Request::post(path).header("content-type", media);
    let request = request.body(body.into()).unwrap();
    let reply = client.0.send(request).await.unwrap();
    let body = serde_json::from_slice(&reply.body).unwrap();
    (reply.status.as_u16(), body)
}

#[tokio::test]
async fn bodies_are_bounded() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let (json, bytes) = ("application/json", "application/octet-stream");
    let (max, batch_max) = (2 * MIB, 16 * MIB);
    let padded = |text: &str, bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));

    let body = put(&mut client, JOBS, json, padded("{}", max)).await.0;
    assert_eq!(body, 201);
    assert_eq!(status_for_length(&fixture, JOBS, json, max + 1).await, 413);
    assert_eq!(status_for_length(&fixture, JOBS, bytes, max + 1).await, 413);
    let path = "/v1/queues/q/jobs/batch";
    let batch = padded("{\"jobs\":[]}", batch_max);
    assert_eq!(put(&mut client, path, json, batch).await.0, 200);
    assert_eq!(
        status_for_length(&fixture, path, json, batch_max + 1).await,
        413
    );
    for (length, status) in [(MIB, 201), (MIB + 1, 400)] {
        let payload = vec![0xff; length];
        let payload = put(&mut client, JOBS, bytes, payload).await;
        assert_eq!(payload.0, status, "{length}");
    }
}

#[tokio::test]
async fn urls_and_headers_are_bounded() {
    let fixture = Fixture::new().await;
    let url = |bytes: usize| format!("/v1/queues?x={}", "y".repeat(bytes - 12));
    let get = |url: &str, headers: &str| {
        format!("GET {url} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")
    };
    // The size of a header is its name, its value and four bytes for separators.
    let long = |bytes: usize| format!("x: {}\r\n", "y".repeat(bytes - "hostlocalhostx".len() - 8));
    let many = |count: usize| "x: y\r\n".repeat(count - 1);

    let status = async |head: String| status_for_headers(&fixture, &head).await;
    assert_eq!(status(get(&url(8 * 1024), "")).await, 200);
    assert_eq!(status(get(&url(8 * 1024 + 1), "")).await, 414);
    assert_eq!(status(get("/healthz", &long(16 * 1024))).await, 200);
    assert_eq!(status(get("/healthz", &long(16 * 1024 + 1))).await, 413);
    assert_eq!(status(get("/healthz", &long(64 * 1024))).await, 431);
    assert_eq!(status(get("/healthz", &many(100))).await, 200);
    assert_eq!(status(get("/healthz", &many(101))).await, 431);
}

/// Fields of a job, each with its largest accepted value and a rejected one.
fn fields() -> Vec<(&'static str, Value, Value)> {
    let text = |bytes: usize| Value::from("x".repeat(bytes));
    // Plus a name of one byte.
    let headers = |bytes: usize| json!({ "x": "y".repeat(bytes - 1) });
    let century = 100_u64 * 365 * 24 * 60 * 60 * 1000;
    vec![
        ("id", text(128), text(129)),
        ("id", text(1), text(0)),
        ("kind", text(128), text(129)),
        ("unique_key", text(128), text(129)),
        ("payload", text(MIB), text(MIB + 1)),
        ("priority", json!(9), json!(10)),
        ("priority", json!(0), json!(-1)),
        ("max_attempts", json!(1), json!(0)),
        (
            "max_attempts",
            json!(u32::MAX),
            json!(u64::from(u32::MAX) + 1),
        ),
        ("headers", headers(16 * 1024), headers(16 * 1024 + 1)),
        (
            "delay",
            json!(format!("{century}ms")),
            json!(format!("{}ms", century + 1)),
        ),
        (
            "timeout",
            json!(format!("{century}ms")),
            json!(format!("{}ms", century + 1)),
        ),
        (
            "expires",
            json!(format!("{century}ms")),
            json!(format!("{}ms", century + 1)),
        ),
        ("at", json!("253402300799.999"), json!("253402300800")),
    ]
}

#[tokio::test]
async fn fields_of_a_job_are_bounded() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (field, accepted, rejected) in fields() {
        let reply = client.post(JOBS, json!({ field: accepted })).await;
        assert_eq!(reply.status, 201, "{field} {:?}", reply.body);
        let reply = client.post(JOBS, json!({ field: rejected })).await;
        assert_eq!(problem(&reply), (400, "invalid".to_owned()), "{field}");
    }
}

#[tokio::test]
async fn json_is_nested_so_deep_and_no_deeper() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let nested = |depth: usize| {
        // The request object itself is one level.
        let levels = depth - 1;
        format!(
            "{{\"payload\":{}{}}}",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let mut at = async |depth| {
        put(&mut client, JOBS, "application/json", nested(depth))
            .await
            .0
    };
    assert_eq!((at(128).await, at(129).await), (201, 400));
}

#[tokio::test]
async fn names_in_a_path_are_bounded_and_hold_no_sign_that_keys_are_made_of() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let mut at = async |name: &str| {
        let path = format!("/v1/queues/{name}/jobs");
        client.post(&path, json!({})).await.status.as_u16()
    };
    assert_eq!(at(&"q".repeat(128)).await, 201);
    assert_eq!(at("AZaz09._:-").await, 201);
    assert_eq!(at(&"q".repeat(129)).await, 400);
    for sign in [
        "%7B", "%7D", "%2A", "%0A", "%0D", "%00", "%20", "%25", "%2F", "%5B", "%3F", "%C3%A9", "|",
        "~",
    ] {
        assert_eq!(at(&format!("a{sign}b")).await, 400, "{sign}");
    }
    let stored = fixture.store.queues().await.unwrap();
    assert_eq!(stored.len(), 2);
}

#[tokio::test]
async fn batches_pages_and_claims_are_bounded() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let batch = |count: usize| json!({ "jobs": vec![json!({}); count] });
    let path = "/v1/queues/many/jobs/batch";
    assert_eq!(client.post(path, batch(10_000)).await.status, 200);
    assert_eq!(client.post(path, batch(10_001)).await.status, 400);

    for (limit, count) in [(499, 499), (500, 500), (501, 500)] {
        let page = client
            .get(&format!("/v1/queues/many/jobs?limit={limit}"))
            .await;
        let page = TestClient::json(&page, 200);
        assert_eq!(page["jobs"].as_array().unwrap().len(), count, "{limit}");
    }
    for bad in ["0", "-1", "1e9", "18446744073709551616", ""] {
        let page = client
            .get(&format!("/v1/queues/many/jobs?limit={bad}"))
            .await;
        assert_eq!(problem(&page).0, 400, "{bad}");
    }
    for cursor in ["", "x", "%00", "-1", "99999999999999999999", "%F0%9F%A6%90"] {
        let page = client
            .get(&format!("/v1/queues/many/jobs?cursor={cursor}"))
            .await;
        assert!(page.status.as_u16() < 500, "{cursor} {page:?}");
    }
    for (max, count) in [(99, 99), (100, 100), (101, 100)] {
        let claimed = client
            .post("/v1/queues/many/claim", json!({ "max": max }))
            .await;
        let claimed = TestClient::json(&claimed, 200);
        assert_eq!(claimed.as_array().unwrap().len(), count, "{max}");
    }
    for (lease, status) in [
        ("1ms", 200),
        ("0ms", 400),
        ("86400000ms", 200),
        ("86400001ms", 400),
    ] {
        let claimed = client
            .post("/v1/queues/many/claim", json!({ "lease": lease }))
            .await;
        assert_eq!(claimed.status, status, "{lease}");
    }
}

#[tokio::test]
async fn what_a_worker_reports_is_bounded() {
    let fixture = Fixture::new().await;
    let queue = QueueName::new("q").unwrap();
    let jobs: Vec<_> = (0..6).map(|_| NewJob::new("x")).collect();
    fixture.store.enqueue(&queue, jobs).await.unwrap();
    let mut client = fixture.client().await;
    let claimed = client
        .post("/v1/queues/q/claim", json!({"max":6,"lease":"1h"}))
        .await;
    let claimed = TestClient::json(&claimed, 200);
    let mut jobs = claimed.as_array().unwrap().iter();
    let job = jobs.next().unwrap();
    let mut report = async |job: &Value, verb: &str, mut body: Value| {
        let id = job["id"].as_str().unwrap();
        body["token"] = job["token"].clone();
        let path = format!("/v1/queues/q/jobs/{id}/{verb}");
        client.post(&path, body).await.status.as_u16()
    };

    for (fraction, status) in [(0.0, 200), (1.0, 200), (-0.001, 400), (1.001, 400)] {
        let reported = report(job, "progress", json!({ "fraction": fraction })).await;
        assert_eq!(reported, status, "{fraction}");
    }
    let too_large = json!({ "result": "x".repeat(MIB + 1) });
    assert_eq!(report(job, "complete", too_large).await, 400);
    let largest = json!({ "result": "x".repeat(MIB) });
    assert_eq!(report(job, "complete", largest).await, 200);
    for bytes in [8 * 1024, 8 * 1024 + 1] {
        let job = jobs.next().unwrap();
        let error = json!({ "error": "x".repeat(bytes), "permanent": true });
        assert_eq!(report(job, "fail", error).await, 200, "{bytes}");
        let id = windlass_core::JobId::new(job["id"].as_str().unwrap()).unwrap();
        let kept = fixture.store.get(&queue, &id).await.unwrap().unwrap();
        assert_eq!(kept.error.unwrap().len(), 8 * 1024, "{bytes}");
    }
}

#[tokio::test]
async fn keys_ids_and_queries_of_a_request_are_bounded() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (bytes, status) in [(1, 201), (255, 201), (256, 400)] {
        let request = Request::post(JOBS).header("idempotency-key", "k".repeat(bytes));
        let reply = client
            .0
            .send(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(reply.status, status, "{bytes}");
    }
    for (bytes, is_echoed) in [(1, true), (128, true), (129, false)] {
        let id = "i".repeat(bytes);
        let request = Request::get("/healthz").header("x-request-id", &id);
        let reply = client
            .0
            .send(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        assert_eq!(reply.headers["x-request-id"] == id, is_echoed, "{bytes}");
    }
    for (count, is_read) in [(64, true), (65, false)] {
        let query: Vec<_> = (0..count).map(|n| format!("f{n}=1")).collect();
        let reply = client.get(&format!("{JOBS}?{}", query.join("&"))).await;
        let reply_body = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, 400);
        assert_eq!(
            !reply_body.contains("too many query parameters"),
            is_read,
            "{count} {reply_body}"
        );
    }
}

#[tokio::test]
async fn any_number_of_kinds_makes_no_series() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let queue = QueueName::new("q").unwrap();
    let mut series = Vec::new();
    for round in 0..2 {
        for batch in 0..10 {
            let job = |n: usize| {
                let kind = format!("kind-{round}-{batch}-{n}");
                NewJob::new("").kind(windlass_core::store::Kind::new(kind).unwrap())
            };
            let jobs = (0..5000).map(job).collect();
            fixture.store.enqueue(&queue, jobs).await.unwrap();
        }
        let metrics = client.get("/metrics").await;
        let metrics = String::from_utf8(metrics.body.to_vec()).unwrap();
        assert!(!metrics.contains("kind-"), "{metrics}");
        series.push(metrics.lines().count());
    }
    assert_eq!(series[0], series[1]);
}

#[tokio::test]
async fn a_token_has_so_many_queues_and_workers() {
    let fixture =
        Fixture::with_tokens(&[("ann", "admin", "mail-* names=2"), ("bob", "admin", "*")]).await;
    let mut client = fixture.client().await;
    let mut send = async |token: &str, method: &str, path: &str, body: Value| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", secret(token)))
            .header("content-type", "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        client.0.send(request).await.unwrap().status.as_u16()
    };
    for (path, status) in [
        ("/v1/queues/mail-1/jobs", 201),
        ("/v1/queues/mail-2/jobs", 201),
        ("/v1/queues/mail-3/jobs", 403),
        ("/v1/queues/mail-4/pause", 403),
        ("/v1/queues/mail-1/jobs", 201),
    ] {
        assert_eq!(send("ann", "POST", path, json!({})).await, status, "{path}");
    }
    let batch = json!({"jobs":[{}]});
    let path = "/v1/queues/mail-5/jobs/batch";
    assert_eq!(send("ann", "POST", path, batch).await, 403);
    let settings = json!({"max_attempts":3});
    let path = "/v1/queues/mail-6/settings";
    assert_eq!(send("ann", "PUT", path, settings).await, 403);
    for (worker, status) in [("w-1", 200), ("w-2", 200), ("w-3", 403), ("w-1", 200)] {
        let body = json!({"worker":worker,"queues":["mail-1"]});
        let found = send("ann", "POST", "/v1/workers", body).await;
        assert_eq!(found, status, "{worker}");
    }
    // Another token has its own limit.
    assert_eq!(
        send("bob", "POST", "/v1/queues/mail-3/jobs", json!({})).await,
        201
    );
    let body = json!({"worker":"w-4","queues":["mail-1"]});
    assert_eq!(send("bob", "POST", "/v1/workers", body).await, 200);
    assert_eq!(fixture.store.queues().await.unwrap().len(), 3);
}
