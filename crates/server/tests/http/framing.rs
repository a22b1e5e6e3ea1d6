//! Requests whose end is ambiguous, sent over a raw socket.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::{Fixture, LONG};

/// Sends raw bytes and returns everything the server sends until it closes the connection.
async fn raw(fixture: &Fixture, bytes: &str) -> String {
    let mut stream = TcpStream::connect(fixture.address()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    // The server may reset the connection after its reply.
    let _ = timeout(LONG, stream.read_to_end(&mut response))
        .await
        .unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test]
async fn a_request_with_an_ambiguous_end_is_rejected() {
    let fixture = Fixture::new().await;
    let start =
        "POST /v1/queues/q/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    let close = "connection: close\r\n";
    for bad in [
        format!("{start}{close}content-length: 2\r\n{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{start}{close}{chunked}content-length: 2\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{start}{close}content-length: 2\r\n\r\n{{}}").replace("\r\n", "\n"),
        format!("{start}{close}content-length: 2\n\r\n{{}}"),
    ] {
        let response = raw(&fixture, &bad).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{bad:?}: {response}");
    }
    assert_eq!(fixture.store.queues().await.unwrap(), []);
    // A body without a length is accepted, as the last request of its connection.
    let last = raw(
        &fixture,
        &format!("{start}{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n"),
    )
    .await;
    assert!(last.starts_with("HTTP/1.1 201 "), "{last}");
    // Requests may follow each other without a pause.
    let two =
        format!("{start}content-length: 2\r\n\r\n{{}}{start}{close}content-length: 2\r\n\r\n{{}}");
    let two = raw(&fixture, &two).await;
    assert_eq!(two.matches("HTTP/1.1 201 ").count(), 2, "{two}");
}
