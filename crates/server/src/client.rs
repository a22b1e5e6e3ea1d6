//! An HTTP client with one connection, for `windlass submit` and tests.

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

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest response body.
const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to a server.
#[derive(Debug)]
pub struct HttpClient {
    sender: SendRequest<Body>,
    authority: String,
}

/// A response with its complete body.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl HttpClient {
    /// Connects to `http://HOST:PORT`.
    pub async fn connect(url: &str) -> Result<Self> {
        let bad = |why: &str| Error::invalid("URL", why, "use a URL such as http://127.0.0.1:7700");
        let uri: Uri = url.parse().map_err(|_| bad("cannot be parsed"))?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(bad("only http:// is supported"));
        }
        let authority = uri.authority().ok_or_else(|| bad("missing host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("credentials in the URL are not supported"));
        }
        let (host, port) = (authority.host(), authority.port_u16().unwrap_or(80));
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let unreachable = |why: String| {
            let what = format!("cannot connect to http://{authority}: {why}");
            let help = "start a server with `windlass serve`, or set its URL with --url";
            Error::new(ErrorKind::StoreUnreachable, what, help)
        };
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port)));
        let stream = stream
            .await
            .map_err(|_| unreachable(format!("timed out ({CONNECT_TIMEOUT:?})")))?
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

    /// Sends a request, and returns the response before its body is read.
    pub async fn send_streaming(
        &mut self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>> {
        let broken = |error: hyper::Error| {
            let what = "connection lost before the response; the request may or may not have been executed";
            let help = "retry; with a job id or an Idempotency-Key this creates no duplicates";
            Error::new(ErrorKind::OutcomeUnknown, what, help).caused_by(error)
        };
        if let Ok(host) = self.authority.parse() {
            request.headers_mut().entry(header::HOST).or_insert(host);
        }
        self.sender.ready().await.map_err(broken)?;
        self.sender.send_request(request).await.map_err(broken)
    }

    /// Sends a request, and reads the complete response.
    pub async fn send(&mut self, request: Request<Body>) -> Result<Reply> {
        let (parts, body) = self.send_streaming(request).await?.into_parts();
        let body = axum::body::to_bytes(Body::new(body), REPLY_BYTES_MAX).await;
        let body = body.map_err(|error| {
            let what = "connection lost while reading the response";
            Error::new(ErrorKind::OutcomeUnknown, what, "retry the request").caused_by(error)
        })?;
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    /// Sends a `POST` request with a JSON body.
    pub async fn post(
        &mut self,
        path: &str,
        token: Option<&str>,
        json: impl Into<Body>,
    ) -> Result<Reply> {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        let request = with_token(request, token).body(json.into());
        self.send(request.map_err(|_| invalid_request())?).await
    }

    /// Sends a `GET` request.
    pub async fn get(&mut self, path: &str, token: Option<&str>) -> Result<Reply> {
        let request = with_token(Request::get(path), token).body(Body::empty());
        self.send(request.map_err(|_| invalid_request())?).await
    }
}

fn with_token(request: Builder, token: Option<&str>) -> Builder {
    match token {
        Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        None => request,
    }
}

fn invalid_request() -> Error {
    let why = "the path or the token contains invalid characters";
    Error::invalid("request", why, "use visible ASCII characters")
}
