//! A client for one connection: what `windlass submit` and the tests speak with.

use std::time::Duration;

use axum::body::Body;
use axum::http::request::Builder;
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use windlass_core::{Error, ErrorKind, Result};

/// How long a connection may take.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// The largest answer that is read.
const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    sender: SendRequest<Body>,
    authority: String,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

impl Client {
    /// Connects to `http://HOST:PORT`.
    pub async fn connect(url: &str) -> Result<Self> {
        let bad = |why: &str| Error::invalid("URL", why, "write it like http://127.0.0.1:7700");
        let uri: Uri = url.parse().map_err(|_| bad("it cannot be read"))?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(bad("only http:// is spoken here"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it holds a secret, which does not belong there"));
        }
        let (host, port) = (authority.host(), authority.port_u16().unwrap_or(80));
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let unreachable = |why: String| {
            let what = format!("the server at http://{authority} cannot be reached: {why}");
            let help = "start one with `windlass serve`, or name it with --url";
            Error::new(ErrorKind::StoreUnreachable, what, help)
        };
        let stream = tokio::time::timeout(CONNECT_WAIT, TcpStream::connect((host, port)));
        let stream = stream
            .await
            .map_err(|_| unreachable("it did not answer in time".to_owned()))?
            .map_err(|error| unreachable(error.to_string()))?;
        let _ = stream.set_nodelay(true);
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        tokio::spawn(connection);
        Ok(Self {
            sender,
            authority: authority.to_string(),
        })
    }

    /// Asks, and gives the answer before its body was read.
    pub async fn open(&mut self, mut request: Request<Body>) -> Result<Response<Incoming>> {
        let broken = |error: hyper::Error| {
            let what = "the server gave no answer: the request may or may not have happened";
            let help = "repeat it; with an id or an Idempotency-Key nothing happens twice";
            Error::new(ErrorKind::OutcomeUnknown, what, help).caused_by(error)
        };
        if let Ok(host) = self.authority.parse() {
            request.headers_mut().entry(header::HOST).or_insert(host);
        }
        self.sender.ready().await.map_err(broken)?;
        self.sender.send_request(request).await.map_err(broken)
    }

    /// Asks, and reads the whole answer.
    pub async fn ask(&mut self, request: Request<Body>) -> Result<Reply> {
        let (parts, body) = self.open(request).await?.into_parts();
        let body = axum::body::to_bytes(Body::new(body), REPLY_BYTES_MAX).await;
        let body = body.map_err(|error| {
            let what = "the answer of the server cannot be read to its end";
            Error::new(ErrorKind::OutcomeUnknown, what, "repeat the request").caused_by(error)
        })?;
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    /// Posts JSON.
    pub async fn post(
        &mut self,
        path: &str,
        token: Option<&str>,
        json: impl Into<Body>,
    ) -> Result<Reply> {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        let request = with_token(request, token).body(json.into());
        self.ask(request.map_err(|_| unsendable())?).await
    }

    /// Looks at something.
    pub async fn get(&mut self, path: &str, token: Option<&str>) -> Result<Reply> {
        let request = with_token(Request::get(path), token).body(Body::empty());
        self.ask(request.map_err(|_| unsendable())?).await
    }
}

fn with_token(request: Builder, token: Option<&str>) -> Builder {
    match token {
        Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => request,
    }
}

fn unsendable() -> Error {
    let why = "its path or its token cannot be sent";
    Error::invalid("request", why, "use plain characters")
}
