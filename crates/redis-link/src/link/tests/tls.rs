//! TLS: which certificates are trusted, on both sides.

use tokio::time::Instant;
use windlass_core::ErrorKind;
use windlass_testkit::redis::{Port, ServerOptions};

use super::*;

fn file(name: &str) -> String {
    format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server with a TLS port and an unencrypted socket.
fn encrypted(auth_clients: &str) -> (Server, Port) {
    let port = Port::reserve();
    let server = ServerOptions::new()
        .line("bind 127.0.0.1")
        .line(format!("tls-port {}", port.number()))
        .line(format!("tls-cert-file {}", file("server.pem")))
        .line(format!("tls-key-file {}", file("server.key")))
        .line(format!("tls-ca-cert-file {}", file("ca.pem")))
        .line(format!("tls-auth-clients {auth_clients}"))
        .start();
    (server, port)
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_reached() {
    let (_server, port) = encrypted("no");
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("rediss://{host}:{}?ca={}", port.number(), file("ca.pem"));
        let link = open(&url).await.expect("opens");
        link.run(&call(count(), &["a"], &[])).await.expect("runs");
    }
}

#[tokio::test]
async fn large_requests_and_replies_are_encrypted_unchanged() {
    let (_server, port) = encrypted("no");
    let url = format!("rediss://127.0.0.1:{}?ca={}", port.number(), file("ca.pem"));
    let link = open(&url).await.expect("opens");
    let echo = script("return ARGV[1]");
    let text: String = (0..1_000_000).map(|n| format!("{n} ")).collect();
    let reply = link.run(&call(echo, &["a"], &[&text])).await;
    assert!(reply.expect("runs") == Value::BulkString(text.into_bytes()));
}

#[tokio::test]
async fn an_untrusted_certificate_is_reported_at_once() {
    let (_server, port) = encrypted("no");
    for ca in ["", "&ca=STRANGER"] {
        let ca = ca.replace("STRANGER", &file("stranger.pem"));
        let started = Instant::now();
        let url = format!("rediss://127.0.0.1:{}?{LONG_TIMEOUT}{ca}", port.number());
        let error = open(&url).await.expect_err("not trusted");
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
        assert!(
            error.help().contains("?ca=FILE"),
            "{error} {}",
            error.help()
        );
        assert!(started.elapsed() < IMMEDIATELY);
    }
}

#[tokio::test]
async fn a_server_may_require_a_client_certificate() {
    let (_server, port) = encrypted("yes");
    let url = format!("rediss://127.0.0.1:{}?ca={}", port.number(), file("ca.pem"));
    let with_certificate = format!(
        "{url}&cert={}&key={}",
        file("client.pem"),
        file("client.key")
    );
    open(&with_certificate).await.expect("opens");
    let error = open(&format!("{url}&timeout=1s"))
        .await
        .expect_err("a certificate is required");
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
}

#[tokio::test]
async fn a_missing_file_and_an_unencrypted_port_are_reported() {
    let server = ServerOptions::new().tcp().start();
    let error = open("rediss://127.0.0.1:1?ca=/nonexistent/ca.pem")
        .await
        .expect_err("no file");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let url = format!("rediss://127.0.0.1:{}", server.port());
    let error = open(&url).await.expect_err("no TLS on this port");
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
    assert!(error.to_string().contains("TLS"), "{error}");
    assert!(
        error.help().contains("redis:// instead"),
        "{}",
        error.help()
    );
}

#[tokio::test]
async fn an_encrypted_port_is_named_if_the_url_has_no_tls() {
    let (_server, port) = encrypted("no");
    let url = format!("redis://127.0.0.1:{}?timeout=1s", port.number());
    let error = open(&url).await.expect_err("TLS on this port");
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
    assert!(
        error.help().contains("rediss:// instead"),
        "{error} {}",
        error.help()
    );
}
