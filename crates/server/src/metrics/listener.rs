//! Serves the metrics of this process, and nothing else: for a worker without the HTTP API.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use windlass_core::{Error, ErrorKind, Result};

use super::recorder::MetricsRecorder;
use super::text::{MEDIA_TYPE, MetricsText};
use crate::handlers::text;

/// The most connections at once, and the longest that one lasts: scrapes are few and short.
const CONNECTIONS_MAX: usize = 16;
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a client may take to send its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// A listener that serves `/metrics`. Anyone who can connect may read them: they name queues and kinds.
#[derive(Debug)]
pub struct MetricsListener {
    listener: TcpListener,
    address: SocketAddr,
    recorder: &'static MetricsRecorder,
}

impl MetricsListener {
    /// Binds the address, and installs the recorder of this process. Call it before a worker starts.
    pub async fn bind(address: SocketAddr) -> Result<Self> {
        let failed = |error: std::io::Error| {
            let what = format!("cannot serve metrics on {address}");
            let help = "choose another address, such as --metrics 127.0.0.1:0 for a free port";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            recorder: MetricsRecorder::install(),
        })
    }

    /// Returns the URL to scrape.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // Further clients wait to be accepted.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = self.listener.accept().await else {
                // The client is already gone, or no file descriptors are left.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let recorder = self.recorder;
            let respond = move |request: Request<Incoming>| async move {
                Ok::<_, Infallible>(respond(recorder, &request))
            };
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service_fn(respond));
            tokio::spawn(async move {
                // Connection errors are caused by the client or the network.
                let _ = tokio::time::timeout(CONNECTION_TIMEOUT, serving).await;
                drop(permit);
            });
        }
    }
}

fn respond(recorder: &MetricsRecorder, request: &Request<Incoming>) -> Response<Body> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if request.uri().path() != "/metrics" || !is_read {
        let mut response = text("text/plain; charset=utf-8", "see GET /metrics\n");
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    let mut metrics = MetricsText::default();
    metrics.process(recorder, |_| true);
    text(MEDIA_TYPE, metrics.0)
}
