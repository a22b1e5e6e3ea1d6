//! The memory budget: what is buffered is bounded per token and in all.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_server::Options;

use crate::fixture::{Fixture, LONG, TestClient, problem, secret, tokens_of};

const MIB: usize = 1024 * 1024;

const BUFFERED: &str = "windlass_http_buffered_bytes";

async fn send(client: &mut TestClient, method: &str, path: &str, media: &str, body: String) -> u16 {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", secret("ann")))
        .header("content-type", media);
    let reply = client.0.send(request.body(Body::from(body)).unwrap()).await;
    reply.unwrap().status.as_u16()
}

/// Sends one request of every kind that buffers. Returns the status of each.
async fn status_of_each(change: impl FnOnce(&mut Options)) -> Vec<u16> {
    let fixture = Fixture::with(|options| {
        options.tokens = tokens_of(&[("ann", "admin", "*")]);
        change(options);
    })
    .await;
    let payload = "x".repeat(MIB);
    let job = json!({"id":"large","payload":payload}).to_string();
    let new = windlass_core::NewJob::new(payload).id(windlass_core::JobId::new("a").unwrap());
    let queue = windlass_core::QueueName::new("q").unwrap();
    fixture.store.enqueue(&queue, vec![new]).await.unwrap();
    let batch = format!("{{\"jobs\":[{job}]}}");
    let json = "application/json";
    let mut seen = Vec::new();
    for (method, path, media, body) in [
        ("POST", "/v1/queues/q/jobs", json, job.clone()),
        ("POST", "/v1/queues/q/jobs/batch", json, batch),
        (
            "POST",
            "/v1/queues/q/jobs/import",
            "application/x-ndjson",
            job,
        ),
        ("GET", "/v1/queues/q/jobs/export", json, String::new()),
        ("GET", "/v1/queues/q/jobs/a/payload", json, String::new()),
        ("GET", "/v1/queues/q/jobs/a", json, String::new()),
        ("POST", "/v1/queues/q/claim", json, "{}".to_owned()),
    ] {
        let mut client = fixture.client().await;
        seen.push(send(&mut client, method, path, media, body).await);
    }
    if seen.last() != Some(&200) {
        // A claim whose reply does not fit gives its jobs back.
        let id = windlass_core::JobId::new("a").unwrap();
        let released = async {
            loop {
                let job = fixture.store.get(&queue, &id).await.unwrap().unwrap();
                if job.state == windlass_core::JobState::Ready {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let released = tokio::time::timeout(LONG, released).await;
        assert!(released.is_ok(), "the job is still claimed");
    }
    seen
}

#[tokio::test]
async fn everything_that_buffers_is_within_the_budget_of_its_token() {
    let accepted = status_of_each(|_| {}).await;
    assert_eq!(accepted, [201, 200, 200, 200, 200, 200, 200]);
    let refused = status_of_each(|options| options.token_memory_max = MIB / 2).await;
    assert_eq!(refused, [429; 7]);
}

#[tokio::test]
async fn everything_that_buffers_is_within_the_budget_of_the_process() {
    let refused = status_of_each(|options| options.memory_max = MIB / 2).await;
    assert_eq!(refused, [503; 7]);
}

#[tokio::test]
async fn memory_is_given_back_when_a_request_ends() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for _ in 0..3 {
        let job = json!({"payload":"x".repeat(MIB)});
        client.post("/v1/queues/q/jobs", job).await;
        assert_eq!(client.get("/v1/queues/q/jobs/export").await.status, 200);
        let claimed = client.post("/v1/queues/q/claim", json!({})).await;
        assert!(claimed.body.len() > MIB);
    }
    client.wait_for(BUFFERED, |bytes| bytes == 0).await;
}

#[tokio::test]
async fn a_token_has_so_many_requests_in_flight_and_another_has_its_own() {
    let tokens = tokens_of(&[("one", "work,read", "* requests=1"), ("two", "read", "*")]);
    let fixture = Fixture::with(|options| options.tokens = tokens).await;
    let mut waiting = TcpStream::connect(fixture.address()).await.unwrap();
    let body = r#"{"wait":"60s"}"#;
    let claim = format!(
        "POST /v1/queues/q/claim HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        secret("one"),
        body.len()
    );
    waiting.write_all(claim.as_bytes()).await.unwrap();
    let mut client = fixture.client().await;
    let polling = async {
        loop {
            let reply = client.send_as("one", "GET", "/v1/queues").await;
            if reply.status != 200 {
                return reply;
            }
        }
    };
    let refused = tokio::time::timeout(LONG, polling).await;
    assert_eq!(
        problem(&refused.unwrap()),
        (429, "too_many_requests".to_owned())
    );
    let other = client.send_as("two", "GET", "/v1/queues").await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn a_waiting_claim_reserves_next_to_nothing() {
    let fixture = Fixture::new().await;
    let mut waiting = TcpStream::connect(fixture.address()).await.unwrap();
    let body = r#"{"max":1,"wait":"60s"}"#;
    let claim = format!(
        "POST /v1/queues/q/claim HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    waiting.write_all(claim.as_bytes()).await.unwrap();
    let mut client = fixture.client().await;
    client.wait_for(BUFFERED, |bytes| bytes > 0).await;

    let reserved = client.metric(BUFFERED).await;

    // Otherwise thousands of them would use up the budget.
    assert!(reserved <= 4 * 1024, "{reserved} bytes");
}

/// Returns the resident memory of this process.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn many_exports_that_nobody_reads_stay_within_the_budget() {
    let fixture = Fixture::with(|options| {
        options.tokens = tokens_of(&[("ann", "read", "*"), ("bob", "read", "*")]);
    })
    .await;
    let queue = windlass_core::QueueName::new("q").unwrap();
    for _ in 0..30 {
        let job = windlass_core::NewJob::new("x".repeat(MIB));
        fixture.store.enqueue(&queue, vec![job]).await.unwrap();
    }
    let before = resident();
    let mut unread = Vec::new();
    let mut accepted = 0;
    for _ in 0..40 {
        let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
        let request = format!(
            "GET /v1/queues/q/jobs/export HTTP/1.1\r\nhost: localhost\r\n\
             authorization: Bearer {}\r\n\r\n",
            secret("ann")
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        accepted += usize::from(&status == b"HTTP/1.1 200");
        unread.push(stream);
    }
    // Sampled until it has not grown for a second.
    let (mut most, mut quiet) = (0, 0);
    while quiet < 20 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let now = resident();
        quiet = if now > most { 0 } else { quiet + 1 };
        most = most.max(now);
    }

    let grown = (most - before) / MIB;
    assert!(grown < 256, "{grown} MiB for {accepted} unread exports");
    assert!(accepted > 0);
    // Another token is not affected.
    let mut other = fixture.client().await;
    let export = other
        .send_as("bob", "GET", "/v1/queues/q/jobs/export")
        .await;
    assert_eq!(export.status, 200);
}
