//! Whoever takes too long is cut off; the waits are shortened here, and nothing has to be quick.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};
use windlass_core::{JobId, NewJob, QueueName};
use windlass_server::Waits;

use crate::fixture::{LONG, Scene};

const SHORT: Duration = Duration::from_secs(1);

/// Waits that nobody in a test waits for, but the one that is set.
async fn scene(set: impl FnOnce(&mut Waits)) -> Scene {
    let mut waits = Waits {
        header: LONG * 2,
        body: LONG * 2,
        idle: LONG * 2,
        stalled: LONG * 2,
        heartbeat: LONG * 2,
    };
    set(&mut waits);
    Scene::with(|options| options.waits = waits).await
}

/// Reads until the server closes the connection.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let ended = timeout(LONG, stream.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "it was left open");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let scene = scene(|waits| waits.header = SHORT).await;
    let began = Instant::now();
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nhost: local";
    stream.write_all(head).await.unwrap();

    until_closed(&mut stream).await;

    assert!(began.elapsed() >= SHORT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_not_before_its_time() {
    let scene = scene(|waits| waits.idle = SHORT * 3).await;
    let began = Instant::now();
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    stream.write_all(head).await.unwrap();

    let answer = until_closed(&mut stream).await;

    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(began.elapsed() >= SHORT * 3, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_connection_may_rest_for_longer_than_a_head_may_take() {
    let header = Duration::from_secs(8);
    let scene = scene(|waits| waits.header = header).await;
    let mut caller = scene.client().await;
    assert_eq!(caller.get("/healthz").await.status, 200);
    // Nothing is waited for but time.
    tokio::time::sleep(header + SHORT).await;

    assert_eq!(caller.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends_is_answered_and_cut_off() {
    let scene = scene(|waits| waits.body = SHORT).await;
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    let head = "POST /v1/queues/q/jobs HTTP/1.1\r\nhost: localhost\r\n\
        content-type: application/json\r\ncontent-length: 100\r\n\r\n{\"pay";
    stream.write_all(head.as_bytes()).await.unwrap();

    let answer = until_closed(&mut stream).await;

    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("too_slow"), "{answer}");
}

#[tokio::test]
async fn an_import_that_stands_still_is_told_so_and_keeps_what_came() {
    // The first line has to come within it.
    let scene = scene(|waits| waits.body = SHORT * 6).await;
    let mut stream = TcpStream::connect(scene.address()).await.unwrap();
    let head = "POST /v1/queues/q/jobs/import HTTP/1.1\r\nhost: localhost\r\n\
        content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{\"id\":\"a\"}\n{\"id\":";
    stream.write_all(head.as_bytes()).await.unwrap();

    let answer = until_closed(&mut stream).await;

    let (_, stopped) = answer.split_once("\"line\":1,\"id\":\"a\"").unwrap();
    assert!(stopped.contains("too_slow"), "{answer}");
    assert!(stopped.contains("\"stopped\":true"), "{answer}");
}

/// A reader with little room, who reads nothing.
async fn reader(scene: &Scene, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket
        .connect(scene.address().parse().unwrap())
        .await
        .unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_reader_of_events_who_does_not_read_is_cut_off() {
    let scene = scene(|waits| waits.stalled = SHORT).await;
    let mut caller = scene.client().await;
    caller.post("/v1/queues/q/jobs", json!({})).await;
    let _reader = reader(&scene, "/v1/events").await;
    let connections = "windlass_http_connections";
    caller.wait_for(connections, |count| count == 2).await;
    let queue = QueueName::new("q").unwrap();
    let began = Instant::now();
    let mut number = 0;

    // What the reader does not take fills the buffers of both ends; then it stalls.
    while caller.figure(connections).await == 2 {
        assert!(began.elapsed() < LONG, "it was left open");
        let jobs = (0..1000).map(|_| {
            number += 1;
            NewJob::new("").id(JobId::new(format!("{number:0>120}")).unwrap())
        });
        scene.store.enqueue(&queue, jobs.collect()).await.unwrap();
        while scene.store.purge(&queue).await.unwrap() > 0 {}
    }
}

#[tokio::test]
async fn a_reader_of_an_export_who_does_not_read_is_cut_off() {
    let scene = scene(|waits| waits.stalled = SHORT).await;
    let mut caller = scene.client().await;
    let queue = QueueName::new("q").unwrap();
    for _ in 0..40 {
        let job = NewJob::new(vec![b'x'; 1024 * 1024]);
        scene.store.enqueue(&queue, vec![job]).await.unwrap();
    }
    let _reader = reader(&scene, "/v1/queues/q/jobs/export").await;
    let connections = "windlass_http_connections";
    caller.wait_for(connections, |count| count == 2).await;

    caller.wait_for(connections, |count| count == 1).await;
}
