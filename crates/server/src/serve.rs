//! Listening: connections, how many and for how long, and the end of it all.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use windlass_core::{Error, ErrorKind, QueueName, Result, Store};

use crate::guard::{HEADER_BYTES_MAX, Peer};
use crate::router::router;
use crate::state::Door;
use crate::timeouts::{Pace, Patient, Waits};
use crate::token::Tokens;

/// How many headers a request has at most.
const HEADERS_MAX: usize = 100;

/// How long requests may go on once the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// How long to wait when no connection can be taken, for want of descriptors for example.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a server is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who may come in; without tokens everybody may do everything.
    pub tokens: Tokens,
    /// Listen beyond this machine without tokens.
    pub is_insecure: bool,
    /// Names it is called by, besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Where `POST /` puts jobs.
    pub delayed_queue: QueueName,
    /// How many connections it has at most.
    pub connections_max: usize,
    /// How many requests are under way at most, those that wait among them.
    pub requests_max: usize,
    /// How many streams of events are open at most.
    pub streams_max: usize,
    /// How many of them one token has, where its line does not say.
    pub token_streams_max: usize,
    /// How many requests a second one token makes, where its line does not say; without tokens, all
    /// callers together.
    pub token_rate_max: Option<NonZeroU32>,
    /// How long it waits for the other end.
    pub waits: Waits,
}

impl Options {
    /// A server on this address, without tokens.
    pub fn new(listen: SocketAddr) -> Result<Self> {
        Ok(Self {
            listen,
            tokens: Tokens::default(),
            is_insecure: false,
            hosts: Vec::new(),
            delayed_queue: QueueName::new("delayed")?,
            connections_max: 4096,
            requests_max: 4096,
            streams_max: 1024,
            token_streams_max: 100,
            token_rate_max: None,
            waits: Waits::default(),
        })
    }

    /// Refuses to open the door to everybody by accident.
    pub fn check(&self) -> Result<()> {
        if self.listen.ip().is_loopback() || !self.tokens.is_empty() || self.is_insecure {
            return Ok(());
        }
        let why = format!(
            "{} can be reached from other machines, and no token is asked for",
            self.listen
        );
        let help = "give tokens with --tokens FILE or WINDLASS_HTTP_TOKEN, or listen on 127.0.0.1; \
            --insecure opens it to everybody";
        Err(Error::invalid("address", why, help))
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    door: Arc<Door>,
    connections: Arc<Semaphore>,
}

impl Server {
    /// Listens. From now on connections are taken, and answered once it runs.
    pub async fn bind(store: Arc<dyn Store>, options: Options) -> Result<Self> {
        options.check()?;
        let cannot = |error: std::io::Error| {
            let what = format!("{} cannot be listened on", options.listen);
            let help = "choose another address with --listen, for example 127.0.0.1:7701";
            Error::new(ErrorKind::Invalid, what, help).caused_by(error)
        };
        let listener = TcpListener::bind(options.listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let connections = Arc::new(Semaphore::new(options.connections_max));
        let door = Arc::new(Door::new(store, options));
        Ok(Self {
            listener,
            address,
            router: router(&door),
            door,
            connections,
        })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until it is stopped; then lets requests end, for a while.
    pub async fn run(self, stop: CancellationToken) {
        let all = Arc::clone(&self.connections);
        let most = u32::try_from(all.available_permits()).unwrap_or(u32::MAX);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => self.connect(stream, peer),
                // A connection that was gone at once, or no descriptor left: others go on.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
        drop(self.listener);
        self.door.stopping.cancel();
        // Every permit back means that every connection has ended.
        let _ = tokio::time::timeout(GRACE, all.acquire_many(most)).await;
    }

    fn connect(&self, stream: TcpStream, peer: SocketAddr) {
        let Ok(permit) = Arc::clone(&self.connections).try_acquire_owned() else {
            self.door.counts.refused();
            // One try: whoever does not take it at once gets nothing.
            let _ = stream.try_write(
                b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            );
            return;
        };
        // Answers are small, and somebody waits for them.
        let _ = stream.set_nodelay(true);
        let service = PeerService {
            inner: TowerToHyperService::new(self.router.clone()),
            peer: Peer(peer.ip()),
            pace: Arc::default(),
        };
        tokio::spawn(connection(stream, service, Arc::clone(&self.door), permit));
    }
}

async fn connection(
    stream: TcpStream,
    service: PeerService,
    door: Arc<Door>,
    permit: OwnedSemaphorePermit,
) {
    door.counts.connected();
    let stream = Patient::new(stream, door.waits, Arc::clone(&service.pace));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        // The stream is less patient; this is for a head that came with the body before it.
        .header_read_timeout(door.waits.idle + door.waits.header)
        .max_buf_size(HEADER_BYTES_MAX * 2)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let is_ended = tokio::select! {
        // Whatever went wrong, it is the other end's or the network's.
        _ = &mut serving => true,
        () = door.stopping.cancelled() => false,
    };
    if !is_ended {
        serving.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(GRACE, serving).await;
    }
    door.counts.disconnected();
    drop(permit);
}

/// The router, told who is at the other end; and the connection, told when a request is under way.
#[derive(Debug, Clone)]
struct PeerService {
    inner: TowerToHyperService<Router>,
    peer: Peer,
    pace: Arc<Pace>,
}

impl Service<Request<Incoming>> for PeerService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        let under_way = self.pace.begin();
        let answering = self.inner.call(request);
        Box::pin(async move {
            let response = answering.await?;
            Ok(response.map(|body| under_way.until_end_of(body)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_to_other_machines_needs_a_token_or_the_word_insecure() {
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
            options.tokens = Tokens::single(&"x".repeat(32)).unwrap();
            assert!(options.check().is_ok(), "{listen}");
        }
    }
}
