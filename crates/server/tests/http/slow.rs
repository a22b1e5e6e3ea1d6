//! Slow clients are disconnected. Timeouts are shortened here; no test depends on speed.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};
use windlass_core::{JobId, NewJob, QueueName};
use windlass_server::Timeouts;

use crate::fixture::{Fixture, LONG};

const SHORT: Duration = Duration::from_secs(1);

/// Starts a server with timeouts longer than any test, except the one that is set.
async fn fixture(set: impl FnOnce(&mut Timeouts)) -> Fixture {
    let mut timeouts = Timeouts {
        header: LONG * 2,
        body: LONG * 2,
        idle: LONG * 2,
        stalled: LONG * 2,
        keep_alive: LONG * 2,
    };
    set(&mut timeouts);
    Fixture::with(|options| options.timeouts = timeouts).await
}

/// Reads until the server closes the connection.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let ended = timeout(LONG, stream.read_to_end(&mut response)).await;
    assert!(ended.is_ok(), "the connection is still open");
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test]
async fn headers_that_never_end_are_cut_off() {
    let fixture = fixture(|timeouts| timeouts.header = SHORT).await;
    let started = Instant::now();
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nhost: local";
    stream.write_all(head).await.unwrap();

    until_closed(&mut stream).await;

    assert!(started.elapsed() >= SHORT, "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_not_before_its_time() {
    let fixture = fixture(|timeouts| timeouts.idle = SHORT * 3).await;
    let started = Instant::now();
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(head).await.unwrap();

    let response = until_closed(&mut stream).await;

    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(started.elapsed() >= SHORT * 3, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_connection_may_be_idle_for_longer_than_headers_may_take() {
    let header = Duration::from_secs(8);
    let fixture = fixture(|timeouts| timeouts.header = header).await;
    let mut client = fixture.client().await;
    assert_eq!(client.get("/healthz").await.status, 200);
    tokio::time::sleep(header + SHORT).await;

    assert_eq!(client.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends_gets_an_error_and_is_cut_off() {
    let fixture = fixture(|timeouts| timeouts.body = SHORT).await;
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    let head = "POST /v1/queues/q/jobs HTTP/1.1\r\nhost: localhost\r\n\
        content-type: application/json\r\ncontent-length: 100\r\n\r\n{\"pay";
    stream.write_all(head.as_bytes()).await.unwrap();

    let response = until_closed(&mut stream).await;

    assert!(response.starts_with("HTTP/1.1 408 "), "{response}");
    assert!(response.contains("too_slow"), "{response}");
}

#[tokio::test]
async fn an_import_that_stalls_gets_an_error_and_keeps_the_lines_received() {
    // The first line must arrive within it.
    let fixture = fixture(|timeouts| timeouts.body = SHORT * 6).await;
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    let head = "POST /v1/queues/q/jobs/import HTTP/1.1\r\nhost: localhost\r\n\
        content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{\"id\":\"a\"}\n{\"id\":";
    stream.write_all(head.as_bytes()).await.unwrap();

    let response = until_closed(&mut stream).await;

    let (_, stopped) = response.split_once("\"line\":1,\"id\":\"a\"").unwrap();
    assert!(stopped.contains("too_slow"), "{response}");
    assert!(stopped.contains("\"stopped\":true"), "{response}");
}

/// A client with a small receive buffer that reads nothing.
async fn stalled_reader(fixture: &Fixture, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket
        .connect(fixture.address().parse().unwrap())
        .await
        .unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_client_that_does_not_read_its_events_is_cut_off() {
    let fixture = fixture(|timeouts| timeouts.stalled = SHORT).await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/q/jobs", json!({})).await;
    let _reader = stalled_reader(&fixture, "/v1/events").await;
    let connections = "windlass_http_connections";
    client.wait_for(connections, |count| count == 2).await;
    let queue = QueueName::new("q").unwrap();
    let started = Instant::now();
    let mut number = 0;

    // Unread events fill the buffers of both ends, then writing stalls.
    while client.metric(connections).await == 2 {
        assert!(started.elapsed() < LONG, "the connection is still open");
        let jobs = (0..1000).map(|_| {
            number += 1;
            NewJob::new("").id(JobId::new(format!("{number:0>120}")).unwrap())
        });
        fixture.store.enqueue(&queue, jobs.collect()).await.unwrap();
        while fixture.store.purge(&queue).await.unwrap() > 0 {}
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_its_export_is_cut_off() {
    let fixture = fixture(|timeouts| timeouts.stalled = SHORT).await;
    let mut client = fixture.client().await;
    let queue = QueueName::new("q").unwrap();
    for _ in 0..40 {
        let job = NewJob::new(vec![b'x'; 1024 * 1024]);
        fixture.store.enqueue(&queue, vec![job]).await.unwrap();
    }
    let _reader = stalled_reader(&fixture, "/v1/queues/q/jobs/export").await;
    let connections = "windlass_http_connections";
    client.wait_for(connections, |count| count == 2).await;

    client.wait_for(connections, |count| count == 1).await;
}
