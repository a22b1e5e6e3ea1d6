//! The access log: one `tracing` event per request, at level debug. It never contains a query or a token.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use tokio::time::Instant;

use crate::guard::Peer;

/// The most characters of a path.
const PATH_CHARS_MAX: usize = 300;

/// A request that is logged when it is answered.
#[derive(Debug)]
pub(crate) struct LoggedRequest {
    method: Method,
    path: String,
    peer: Option<IpAddr>,
    began: Instant,
}

impl LoggedRequest {
    /// Returns `None` if requests are not logged, so that they cost nothing.
    pub(crate) fn new(request: &Request) -> Option<Self> {
        tracing::enabled!(target: "windlass", tracing::Level::DEBUG).then(|| Self {
            method: request.method().clone(),
            path: request.uri().path().chars().take(PATH_CHARS_MAX).collect(),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
            began: Instant::now(),
        })
    }

    /// Logs the request; `caller` is the name of its token.
    pub(crate) fn answered(self, caller: Option<&str>, status: StatusCode) {
        let Self { method, path, .. } = &self;
        let status = status.as_u16();
        tracing::debug!(
            name: "request",
            target: "windlass",
            %method,
            path,
            status,
            took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            caller,
            address = self.peer.map(tracing::field::display),
            "{method} {path} {status}"
        );
    }
}
