//! Slow clients and idle event streams do not block a normal client.
//!
//! `WINDLASS_SLOW_CLIENTS=2000` runs the full number of clients and asserts the promised latency: run
//! it alone, on an idle machine, with `ulimit -n 8192`.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::fixture::{Fixture, LONG, TestClient};

const CONNECTIONS: &str = "windlass_http_connections";

/// The number of clients set in the environment.
fn configured() -> Option<usize> {
    let count = std::env::var("WINDLASS_SLOW_CLIENTS").ok();
    count.and_then(|text| text.parse().ok())
}

/// The number of clients. The full number needs more open files than many systems allow by default.
fn crowd() -> usize {
    configured().unwrap_or(200)
}

/// The maximum p99 latency. When other tests run at the same time only progress is checked.
fn latency_max() -> Duration {
    configured().map_or(LONG, |_| Duration::from_millis(100))
}

/// A client that sends one byte per second, until the server disconnects it.
async fn send_slowly(address: String) {
    let Ok(mut stream) = TcpStream::connect(&address).await else {
        return;
    };
    for byte in
        b"POST /v1/queues/q/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9000\r\n\r\n"
    {
        if stream.write_all(&[*byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_do_not_stop_a_normal_one() {
    // No slow client times out before all of them are connected.
    let fixture = Fixture::with(|options| {
        options.timeouts.header = LONG * 2;
        options.address_connections_max = crowd() + 1;
    })
    .await;
    let slow: Vec<_> = (0..crowd())
        .map(|_| tokio::spawn(send_slowly(fixture.address().to_owned())))
        .collect();
    let mut client = fixture.client().await;
    client.wait_for(CONNECTIONS, |count| count > crowd()).await;

    let latency = p99(&mut client).await;

    for slow in slow {
        slow.abort();
    }
    assert!(latency < latency_max(), "{latency:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_of_events_do_not_stop_a_normal_client() {
    let fixture = Fixture::with(|options| options.streams_max = crowd()).await;
    let mut streams = Vec::new();
    for _ in 0..crowd() {
        let mut reader = fixture.client().await;
        let request = Request::get("/v1/events").body(Body::empty()).unwrap();
        let stream = reader.0.send_streaming(request).await.unwrap();
        assert_eq!(stream.status(), 200);
        streams.push((reader, stream));
    }
    let mut client = fixture.client().await;

    let latency = p99(&mut client).await;

    assert!(client.metric(CONNECTIONS).await > crowd());
    assert!(latency < latency_max(), "{latency:?}");
}

/// Measures the p99 latency of requests.
async fn p99(client: &mut TestClient) -> Duration {
    // The best of three: other load on the machine is short, the slow clients stay.
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let mut latencies = Vec::new();
        for _ in 0..200 {
            let started = Instant::now();
            let job = json!({"payload":"x"});
            TestClient::json(&client.post("/v1/queues/q/jobs", job).await, 201);
            latencies.push(started.elapsed());
        }
        latencies.sort_unstable();
        best = best.min(latencies[latencies.len() * 99 / 100]);
    }
    best
}
