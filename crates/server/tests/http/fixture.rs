//! A server on a fresh memory store, and a caller.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use windlass_core::{Store, SystemClock};
use windlass_server::client::Reply;
use windlass_server::{CancellationToken, Client, Options, Server, Tokens};
use windlass_store_memory::MemoryStore;

/// How long anything may take that has to happen: the machine may be busy with other things.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A server; it stops when the test ends.
pub(crate) struct Scene {
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    stop: CancellationToken,
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Scene {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A server with these tokens: the secret, its scopes, its queues.
    pub(crate) async fn with_tokens(tokens: &[(&str, &str, &str)]) -> Self {
        Self::with(|options| options.tokens = tokens_of(tokens)).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let mut options = Options::new("127.0.0.1:0".parse().unwrap()).unwrap();
        change(&mut options);
        let server = Server::bind(Arc::clone(&store), options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Self { url, store, stop }
    }

    /// Asks the server to stop.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub(crate) async fn client(&self) -> Caller {
        Caller(Client::connect(&self.url).await.unwrap())
    }
}

/// Tokens: the secret, its scopes, and its queues with what bounds it.
pub(crate) fn tokens_of(tokens: &[(&str, &str, &str)]) -> Tokens {
    let line = |(secret, scopes, queues): &(&str, &str, &str)| {
        format!("{secret} {} {scopes} {queues}", sha256(secret))
    };
    let lines: Vec<_> = tokens.iter().map(line).collect();
    Tokens::parse(&lines.join("\n")).unwrap()
}

/// Somebody who asks.
pub(crate) struct Caller(pub(crate) Client);

impl Caller {
    /// Asks with a JSON body, or none.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: Value) -> Reply {
        let request = Request::builder().method(method).uri(path);
        let request = if body.is_null() {
            request.body(Body::empty())
        } else {
            let request = request.header("content-type", "application/json");
            request.body(Body::from(body.to_string()))
        };
        self.0.ask(request.unwrap()).await.unwrap()
    }

    /// Asks with a token.
    pub(crate) async fn ask_as(&mut self, token: &str, method: &str, path: &str) -> Reply {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        self.0
            .ask(request.body(Body::empty()).unwrap())
            .await
            .unwrap()
    }

    /// One of the server's own figures.
    pub(crate) async fn figure(&mut self, name: &str) -> usize {
        let metrics = self.get("/metrics").await;
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        let mut lines = metrics.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap().parse().unwrap()
    }

    /// Waits until a figure of the server is as wanted.
    pub(crate) async fn wait_for(&mut self, name: &str, is_so: impl Fn(usize) -> bool) {
        let waiting = async {
            while !is_so(self.figure(name).await) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(LONG, waiting).await;
        assert!(waited.is_ok(), "{name} did not become what it should");
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.ask("GET", path, Value::Null).await
    }

    pub(crate) async fn post(&mut self, path: &str, body: Value) -> Reply {
        self.ask("POST", path, body).await
    }

    /// Asks and wants this status; answers the JSON.
    #[track_caller]
    pub(crate) fn json(reply: &Reply, status: u16) -> Value {
        let text = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, status, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// The problem of a reply: its status and code; it has everything a problem has.
#[track_caller]
pub(crate) fn problem(reply: &Reply) -> (u16, String) {
    let document: Value = serde_json::from_slice(&reply.body).unwrap();
    let media = reply.headers["content-type"].to_str().unwrap();
    assert_eq!(media, "application/problem+json");
    for field in ["type", "title", "detail", "code", "help", "request_id"] {
        assert!(document[field].is_string(), "{document}");
    }
    assert_eq!(document["status"], reply.status.as_u16());
    let id = reply.headers["x-request-id"].to_str().unwrap();
    assert_eq!(document["request_id"], id);
    let code = document["code"].as_str().unwrap().to_owned();
    (reply.status.as_u16(), code)
}

/// The digest of a token as the file has it.
pub(crate) fn sha256(secret: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
