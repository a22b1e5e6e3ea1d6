//! TLS: a served store behind a proxy, as in docs/http.md, and which certificates are trusted.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use windlass_core::{ClaimRequest, ErrorKind, NewJob, QueueName, Store, SystemClock};
use windlass_server::{CancellationToken, HttpServer, Options, Tokens};
use windlass_store_http::RemoteStore;
use windlass_store_memory::MemoryStore;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A certificate or key for `localhost` and `127.0.0.1`, shared with the tests of Redis.
fn file(name: &str) -> String {
    format!(
        "{}/../redis-link/tests/tls/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

fn mail() -> QueueName {
    QueueName::new("mail").unwrap()
}

fn acceptor() -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let chain = CertificateDer::pem_file_iter(file("server.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

/// Serves a memory store. Returns the port of a TLS proxy in front of it, and the unencrypted port.
async fn serve() -> (u16, u16) {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = proxy.local_addr().unwrap().port();
    let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
    options.tokens = Tokens::single(TOKEN).unwrap();
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let server = HttpServer::bind(store, options).await.unwrap();
    let plain = server.url().rsplit(':').next().unwrap().parse().unwrap();
    tokio::spawn(server.run(CancellationToken::new()));
    tokio::spawn(async move {
        loop {
            let (stream, _) = proxy.accept().await.unwrap();
            tokio::spawn(async move {
                if let Ok(mut stream) = acceptor().accept(stream).await {
                    let mut server = TcpStream::connect(("127.0.0.1", plain)).await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut server).await;
                }
            });
        }
    });
    (port, plain)
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_used() {
    let (port, _) = serve().await;
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{port}?ca={}", file("ca.pem"));
        let remote = RemoteStore::with_token(&url, TOKEN).unwrap();
        let payload = vec![7_u8; 1024 * 1024];
        let job = NewJob::new(payload.clone());
        remote.enqueue(&mail(), vec![job]).await.unwrap();
        let claim = remote.claim(&mail(), ClaimRequest::single(1)).await;
        assert_eq!(claim.unwrap().unwrap().jobs[0].payload, payload);
    }
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_with_the_option_that_trusts_it() {
    let (port, _) = serve().await;
    for options in [String::new(), format!("?ca={}", file("stranger.pem"))] {
        let url = format!("https://127.0.0.1:{port}{options}");
        let remote = RemoteStore::with_token(&url, TOKEN).unwrap();
        let error = remote.queues().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
        assert!(
            error.help().contains("?ca=FILE"),
            "{error} {}",
            error.help()
        );
    }
}

#[tokio::test]
async fn an_unencrypted_port_and_a_missing_file_are_reported() {
    let (_, plain) = serve().await;
    let url = format!("https://127.0.0.1:{plain}?ca={}", file("ca.pem"));
    let remote = RemoteStore::with_token(&url, TOKEN).unwrap();
    let error = remote.queues().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
    assert!(
        error.help().contains("http:// instead"),
        "{error} {}",
        error.help()
    );
    let url = "https://127.0.0.1:1?ca=/nonexistent/ca.pem";
    let error = RemoteStore::with_token(url, TOKEN).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn an_encrypted_port_is_named_if_the_url_has_no_tls() {
    let (port, _) = serve().await;
    let url = format!("http://127.0.0.1:{port}");
    let remote = RemoteStore::with_token(&url, TOKEN).unwrap();
    let error = remote.queues().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreUnreachable, "{error}");
    assert!(
        error.help().contains("https://"),
        "{error} {}",
        error.help()
    );
}
