//! Claims: waiting for jobs, and clients that disconnect.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use windlass_core::{JobState, QueueName};

use crate::fixture::{Fixture, LONG, TestClient, problem};

/// Requests in flight, including the one that reads the metric.
const IN_FLIGHT: &str = "windlass_http_requests_in_flight";

#[tokio::test]
async fn a_waiting_claim_gets_a_job_as_soon_as_there_is_one() {
    let fixture = Fixture::new().await;
    let (mut waiter, mut producer) = (fixture.client().await, fixture.client().await);
    producer.post("/v1/queues/q/pause", Value::Null).await;
    producer.post("/v1/queues/q/resume", Value::Null).await;
    let started = Instant::now();
    let waiting = waiter.post("/v1/queues/q/claim", json!({"wait":"60s"}));
    let enqueueing = async {
        producer.wait_for(IN_FLIGHT, |count| count == 2).await;
        producer.post("/v1/queues/q/jobs", json!({"id":"a"})).await
    };

    let (claimed, _) = tokio::join!(waiting, enqueueing);

    assert_eq!(TestClient::json(&claimed, 200)[0]["id"], "a");
    // It did not wait for the timeout.
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn a_claim_without_a_wait_returns_at_once() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let empty = client.post("/v1/queues/q/claim", Value::Null).await;
    assert_eq!(TestClient::json(&empty, 200), json!([]));
    let short = client
        .post("/v1/queues/q/claim", json!({"wait":"20ms"}))
        .await;
    assert_eq!(TestClient::json(&short, 200), json!([]));
}

#[tokio::test]
async fn a_job_claimed_for_a_client_that_disconnected_is_released() {
    let fixture = Fixture::new().await;
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    let body = r#"{"wait":"30s","lease":"10m"}"#;
    let request = format!(
        "POST /v1/queues/q/claim HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut producer = fixture.client().await;
    producer.wait_for(IN_FLIGHT, |count| count == 2).await;
    drop(stream);
    producer.post("/v1/queues/q/jobs", json!({"id":"a"})).await;

    let queue = QueueName::new("q").unwrap();
    let released = async {
        // It may be claimed for the disconnected client and released; after that it stays ready.
        let mut ready_checks = 0;
        while ready_checks < 25 {
            let id = windlass_core::JobId::new("a").unwrap();
            let job = fixture.store.get(&queue, &id).await.unwrap().unwrap();
            ready_checks = if job.state == JobState::Ready {
                ready_checks + 1
            } else {
                0
            };
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LONG, released).await.unwrap();
    let claimed = producer.post("/v1/queues/q/claim", Value::Null).await;
    assert_eq!(TestClient::json(&claimed, 200)[0]["attempt"], 1);
}

#[tokio::test]
async fn a_server_that_stops_replies_to_waiting_claims() {
    let fixture = Fixture::new().await;
    let (mut client, mut other) = (fixture.client().await, fixture.client().await);
    let started = Instant::now();
    let waiting = client.post("/v1/queues/q/claim", json!({"wait":"60s"}));
    let stopping = async {
        other.wait_for(IN_FLIGHT, |count| count == 2).await;
        fixture.stop();
    };

    let (claimed, ()) = tokio::join!(waiting, stopping);

    assert_eq!(TestClient::json(&claimed, 200), json!([]));
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[tokio::test]
async fn the_next_jobs_are_claimed_with_the_end_of_the_last() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for id in ["a", "b"] {
        client.post("/v1/queues/q/jobs", json!({"id":id})).await;
    }
    let claimed = client.post("/v1/queues/q/claim", Value::Null).await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();
    let done = json!({"id":"a","token":token,"claim":{"max":1}});

    let done = client.post("/v1/queues/q/complete", done).await;

    let done = TestClient::json(&done, 200);
    assert_eq!(
        (&done["jobs"][0]["outcome"], &done["claimed"][0]["id"]),
        (&json!("completed"), &json!("b"))
    );
}

#[tokio::test]
async fn the_jobs_that_a_late_complete_claims_are_in_its_reply() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for id in ["a", "b", "c"] {
        client.post("/v1/queues/q/jobs", json!({"id":id})).await;
    }
    let claimed = client.post("/v1/queues/q/claim", json!({})).await;
    let token = TestClient::json(&claimed, 200)[0]["token"].clone();
    let done = json!({"id":"a","token":token});
    client.post("/v1/queues/q/release", done.clone()).await;

    for (id, outcome, next) in [("a", "lease_lost", "a"), ("z", "gone", "b")] {
        let done = json!({"id":id,"token":token,"claim":{"lease":"10m"}});
        let done = client.post("/v1/queues/q/complete", done).await;
        let done = TestClient::json(&done, 200);
        assert_eq!(
            (&done["jobs"][0]["outcome"], &done["claimed"][0]["id"]),
            (&json!(outcome), &json!(next))
        );
    }
    let late = client.post("/v1/queues/q/complete", done).await;
    assert_eq!(problem(&late), (409, "lease_lost".to_owned()));
}

#[tokio::test]
async fn a_server_that_stops_replies_to_clients_that_wait_for_a_job() {
    let fixture = Fixture::new().await;
    let (mut client, mut other) = (fixture.client().await, fixture.client().await);
    other.post("/v1/queues/q/jobs", json!({"id":"a"})).await;
    let started = Instant::now();
    let waiting = client.get("/v1/queues/q/jobs/a/wait?timeout=60s");
    let stopping = async {
        other.wait_for(IN_FLIGHT, |count| count == 2).await;
        fixture.stop();
    };

    let (waited, ()) = tokio::join!(waiting, stopping);

    assert_eq!(problem(&waited), (408, "timed_out".to_owned()));
    assert!(started.elapsed() < Duration::from_secs(5));
}
