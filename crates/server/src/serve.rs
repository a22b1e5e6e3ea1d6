//! The server: accepts and limits connections, and shuts down gracefully.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_core::{Error, ErrorKind, QueueName, Result, Store};

use crate::connections::{Connection, Connections};
use crate::extra::ExtraRoute;
use crate::guard::{HEADER_BYTES_MAX, Peer};
use crate::router::router;
use crate::state::AppState;
use crate::timeouts::{RequestTracker, TimeoutStream, Timeouts};
use crate::token::Tokens;

/// The most headers of a request.
const HEADERS_MAX: usize = 100;

const MIB: usize = 1024 * 1024;

/// How long requests may continue after the server was stopped.
const GRACE: Duration = Duration::from_secs(10);

/// How long to wait after a failed accept, for example when no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Accepted tokens. If empty, no token is required and every request is allowed.
    pub tokens: Tokens,
    /// Allow listening on a non-loopback address without tokens.
    pub is_insecure: bool,
    /// Accepted `Host` names, in addition to `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// The kind of store, for the front page: `sqlite`, `redis`, `http` or `memory` (default).
    pub store_kind: &'static str,
    /// A route of another system (default: none).
    pub extra: Option<Arc<dyn ExtraRoute>>,
    /// Receives the queues in which a request puts schedules, unless it is full (default: none).
    pub put_schedules: Option<mpsc::Sender<QueueName>>,
    /// The most open connections.
    pub connections_max: usize,
    /// The most open connections of one address (for IPv6, a /64) without a valid token.
    pub address_connections_max: usize,
    /// The most requests in flight, including waiting claims.
    pub requests_max: usize,
    /// The most open event streams.
    pub streams_max: usize,
    /// The most open event streams per token, unless the token file sets `streams=N`.
    pub token_streams_max: usize,
    /// The most requests per second per token, unless the token file sets `rate=N`. Without tokens
    /// the limit applies to all requests together.
    pub token_rate_max: Option<NonZeroU32>,
    /// The most requests in flight per token, unless the token file sets `requests=N`.
    pub token_requests_max: usize,
    /// The most queues and the most workers that a token may create, unless the token file sets
    /// `names=N`. All that the token has access to are counted.
    pub token_names_max: usize,
    /// The most bytes buffered for requests and responses.
    pub memory_max: usize,
    /// The most bytes buffered for requests and responses of one token.
    pub token_memory_max: usize,
    /// How long to wait for clients.
    pub timeouts: Timeouts,
}

impl Options {
    /// Returns the default options for a server on this address, without tokens.
    pub fn new(listen: SocketAddr) -> Result<Self> {
        Ok(Self {
            listen,
            tokens: Tokens::default(),
            is_insecure: false,
            hosts: Vec::new(),
            store_kind: "memory",
            extra: None,
            put_schedules: None,
            connections_max: 8192,
            address_connections_max: 256,
            requests_max: 8192,
            streams_max: 1024,
            token_streams_max: 100,
            token_rate_max: None,
            token_requests_max: 6144,
            token_names_max: 10_000,
            memory_max: 256 * MIB,
            token_memory_max: 128 * MIB,
            timeouts: Timeouts::default(),
        })
    }

    /// Rejects a server that would accidentally be open to other machines.
    pub fn check(&self) -> Result<()> {
        if self.listen.ip().is_loopback() || !self.tokens.is_empty() || self.is_insecure {
            return Ok(());
        }
        let why = format!(
            "{} is reachable from other machines, and no token is configured",
            self.listen
        );
        let help = "set tokens with --tokens FILE or WINDLASS_HTTP_TOKEN, or listen on 127.0.0.1; \
            --insecure allows access without a token";
        Err(Error::invalid("address", why, help))
    }
}

/// A server bound to an address.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    state: Arc<AppState>,
    connections: Arc<Connections>,
    /// Cloned for every connection; once all clones are dropped, all connections are closed.
    open: mpsc::Sender<()>,
    closed: mpsc::Receiver<()>,
}

impl HttpServer {
    /// Binds the address. Connections are queued until [`HttpServer::run`] serves them.
    pub async fn bind(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        options.check()?;
        let failed = |error: std::io::Error| {
            let what = format!("cannot listen on {}", options.listen);
            let help = "choose another address, such as --listen 127.0.0.1:7701";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let connections =
            Connections::new(options.connections_max, options.address_connections_max);
        let (open, closed) = mpsc::channel(1);
        let state = Arc::new(AppState::new(store, options));
        Ok(Self {
            listener,
            address,
            router: router(&state),
            state,
            connections,
            open,
            closed,
        })
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until `stop` is cancelled, then waits up to 10 s for requests in flight.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => self.connect(stream, peer),
                // The client is already gone, or no file descriptors are left.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(self.listener);
        drop(self.open);
        self.state.stopping.cancel();
        let _ = tokio::time::timeout(GRACE, self.closed.recv()).await;
    }

    fn connect(&self, stream: TcpStream, peer: SocketAddr) {
        let tracker = Arc::default();
        let Some(admitted) = self.connections.admit(peer.ip(), &tracker) else {
            self.state.counters.connection_rejected();
            // Best effort: never wait for this client.
            let _ = stream.try_write(
                b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            );
            return;
        };
        // Responses are small and latency matters.
        let _ = stream.set_nodelay(true);
        let service = PeerService {
            inner: TowerToHyperService::new(self.router.clone()),
            peer: Peer(peer.ip()),
            connection: Arc::new(admitted),
            tracker,
        };
        let (state, open) = (Arc::clone(&self.state), self.open.clone());
        tokio::spawn(async move {
            connection(stream, service, state).await;
            drop(open);
        });
    }
}

async fn connection(stream: TcpStream, service: PeerService, state: Arc<AppState>) {
    state.counters.connected();
    let closing = service.connection.closing.clone();
    let stream = TimeoutStream::new(stream, state.timeouts, Arc::clone(&service.tracker));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        // `TimeoutStream` has stricter limits; this one covers headers that arrived together with
        // the previous body.
        .header_read_timeout(state.timeouts.idle + state.timeouts.header)
        .max_buf_size(HEADER_BYTES_MAX * 2)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let is_done = tokio::select! {
        // Connection errors are caused by the client or the network.
        _ = &mut serving => true,
        () = state.stopping.cancelled() => false,
        () = closing.cancelled() => {
            state.counters.connection_rejected();
            true
        }
    };
    if !is_done {
        serving.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(GRACE, serving).await;
    }
    state.counters.disconnected();
}

/// Adds the client address to requests, and tracks which requests are in flight.
#[derive(Debug, Clone)]
struct PeerService {
    inner: TowerToHyperService<Router>,
    peer: Peer,
    connection: Arc<Connection>,
    tracker: Arc<RequestTracker>,
}

impl Service<Request<Incoming>> for PeerService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        request
            .extensions_mut()
            .insert(Arc::clone(&self.connection));
        let in_flight = self.tracker.start();
        let is_last = request.headers().contains_key(header::TRANSFER_ENCODING);
        let responding = self.inner.call(request);
        Box::pin(async move {
            let mut response = responding.await?;
            if is_last {
                // `Framing` does not follow bodies without a length.
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok(response.map(|body| in_flight.track(body)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_for_other_machines_needs_a_token_or_the_flag_insecure() {
        for (listen, is_open) in [
            ("127.0.0.1:0", true),
            ("[::1]:0", true),
            ("0.0.0.0:0", false),
            ("[::]:0", false),
            ("10.1.2.3:0", false),
        ] {
            let mut options = Options::new(listen.parse().unwrap()).unwrap();
            assert_eq!(options.check().is_ok(), is_open, "{listen}");
            options.is_insecure = true;
            assert!(options.check().is_ok(), "{listen}");
            options.is_insecure = false;
            options.tokens = Tokens::single(&"0123456789abcdef".repeat(2)).unwrap();
            assert!(options.check().is_ok(), "{listen}");
        }
    }
}
