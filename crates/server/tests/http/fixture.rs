//! A server on a new memory store, and a client.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use windlass_core::{Store, SystemClock};
use windlass_server::client::Reply;
use windlass_server::{CancellationToken, HttpClient, HttpServer, Options, Tokens};
use windlass_store_memory::MemoryStore;

/// The deadline of anything that must happen; generous, since the machine may be busy.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A running server. Stops when dropped.
pub(crate) struct Fixture {
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    stop: CancellationToken,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts a server with tokens: name, scopes, queues.
    pub(crate) async fn with_tokens(tokens: &[(&str, &str, &str)]) -> Self {
        Self::with(|options| options.tokens = tokens_of(tokens)).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        change(&mut options);
        let server = HttpServer::bind(Arc::clone(&store), options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self { url, store, stop }
    }

    /// Stops the server.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub(crate) async fn client(&self) -> TestClient {
        TestClient(HttpClient::connect(&self.url).await.unwrap())
    }
}

/// Returns the token of a name: long enough for the server to accept it.
pub(crate) fn secret(name: &str) -> String {
    format!("{name}-0123456789abcdef0123456789abcdef")
}

/// Parses tokens: name, scopes, and queues with limits.
pub(crate) fn tokens_of(tokens: &[(&str, &str, &str)]) -> Tokens {
    let line = |(name, scopes, queues): &(&str, &str, &str)| {
        format!("{name} {} {scopes} {queues}", sha256(&secret(name)))
    };
    let lines: Vec<_> = tokens.iter().map(line).collect();
    Tokens::parse(&lines.join("\n")).unwrap()
}

/// A client with one connection.
pub(crate) struct TestClient(pub(crate) HttpClient);

impl TestClient {
    /// Sends a request with a JSON body, or without a body if it is null.
    pub(crate) async fn send(&mut self, method: &str, path: &str, body: Value) -> Reply {
        let request = Request::builder().method(method).uri(path);
        let request = if body.is_null() {
            request.body(Body::empty())
        } else {
            let request = request.header("content-type", "application/json");
            request.body(Body::from(body.to_string()))
        };
        self.0.send(request.unwrap()).await.unwrap()
    }

    /// Sends a request with the token of a name and no body.
    pub(crate) async fn send_as(&mut self, token: &str, method: &str, path: &str) -> Reply {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {}", secret(token)));
        self.0
            .send(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    }

    /// Returns a metric of the server.
    pub(crate) async fn metric(&mut self, name: &str) -> usize {
        let metrics = self.get("/metrics").await;
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        let mut lines = metrics.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap().parse().unwrap()
    }

    /// Waits until a metric of the server matches.
    pub(crate) async fn wait_for(&mut self, name: &str, matches: impl Fn(usize) -> bool) {
        let waiting = async {
            while !matches(self.metric(name).await) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(LONG, waiting).await;
        assert!(waited.is_ok(), "{name} did not reach the expected value");
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, Value::Null).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.send("POST", path, body).await
    }

    /// Asserts the status of a reply and returns its JSON.
    #[track_caller]
    pub(crate) fn json(reply: &Reply, status: u16) -> Value {
        let text = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, status, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Asserts that a reply is a complete problem+json document. Returns its status and code.
#[track_caller]
pub(crate) fn problem(reply: &Reply) -> (u16, String) {
    let document: Value = serde_json::from_slice(&reply.body).unwrap();
    let media_type = reply.headers["content-type"].to_str().unwrap();
    assert_eq!(media_type, "application/problem+json");
    for field in ["type", "title", "detail", "code", "help", "request_id"] {
        assert!(document[field].is_string(), "{document}");
    }
    assert_eq!(document["status"], reply.status.as_u16());
    let id = reply.headers["x-request-id"].to_str().unwrap();
    assert_eq!(document["request_id"], id);
    let code = document["code"].as_str().unwrap().to_owned();
    (reply.status.as_u16(), code)
}

/// Returns the digest of a token as in a token file.
pub(crate) fn sha256(secret: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
