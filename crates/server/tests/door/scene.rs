//! A server on a fresh memory store, and a caller.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;
use windlass_core::{Store, SystemClock};
use windlass_server::client::Reply;
use windlass_server::{CancellationToken, Client, Options, Server, Tokens};
use windlass_store_memory::MemoryStore;

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
        let lines: Vec<_> = tokens
            .iter()
            .map(|(secret, scopes, queues)| {
                format!("{secret} {} {scopes} {queues}", sha256(secret))
            })
            .collect();
        let tokens = Tokens::parse(&lines.join("\n")).unwrap();
        Self::with(|options| options.tokens = tokens).await
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
