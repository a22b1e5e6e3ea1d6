//! Opens streams to servers: TCP, TLS over TCP, or a Unix socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use redis::{Pipeline, RedisError};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use windlass_core::Result;

use super::progress::LinkProgress;
use super::tls;
use crate::address::{Host, Login, Server, Tls};

/// TCP keepalive time: a dead connection is noticed after about this long.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// How long a server may take to answer the TLS handshake: shorter than a connection attempt, so that this is
/// what the error names.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`).
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// How many bytes the kernel accepts beyond those in flight: [`LinkProgress`] cannot see when it sends them.
#[cfg(target_os = "linux")]
const UNSENT_MAX: u32 = 128 * 1024;

pub(crate) type Stream = Box<dyn AsyncStream>;

/// A stream in both directions.
pub(crate) trait AsyncStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> AsyncStream for S {}

/// Why there is no stream.
pub(crate) enum DialError {
    Failed(RedisError),
    /// The server does not answer the TLS handshake.
    SilentHandshake,
}

impl<E: Into<RedisError>> From<E> for DialError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// How to connect to a server: login, database and TLS.
#[derive(Clone)]
pub(crate) struct ConnectOptions {
    /// What is sent first on each connection.
    pub(super) login: Pipeline,
    pub(super) reply_bytes_max: u64,
    /// The progress of all connections.
    pub(super) progress: Arc<LinkProgress>,
    tls: Option<Arc<ClientConfig>>,
}

impl ConnectOptions {
    pub(crate) fn new(
        login: &Login,
        db: u32,
        tls: Option<&Tls>,
        reply_bytes_max: u64,
    ) -> Result<Self> {
        Ok(Self {
            login: commands(login, db),
            reply_bytes_max,
            progress: LinkProgress::new(None),
            tls: tls.map(tls::config).transpose()?,
        })
    }

    pub(super) async fn dial(&self, server: &Server) -> Result<Stream, DialError> {
        let host = match server {
            Server::Unix(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
            Server::Tcp(host) => host,
        };
        let stream = connect(host).await?;
        let Some(config) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let name = ServerName::try_from(host.name.clone()).map_err(|_| {
            RedisError::from((redis::ErrorKind::InvalidClientConfig, "invalid host name"))
        })?;
        let connector = TlsConnector::from(Arc::clone(config));
        match timeout(HANDSHAKE_TIMEOUT, connector.connect(name, stream)).await {
            Ok(stream) => Ok(Box::new(stream?)),
            Err(_) => Err(DialError::SilentHandshake),
        }
    }
}

/// The commands that a connection begins with.
fn commands(login: &Login, db: u32) -> Pipeline {
    let mut commands = Pipeline::with_capacity(2);
    commands.cmd("HELLO").arg(3);
    if let Some(password) = &login.password {
        let user = login.user.as_deref().unwrap_or("default");
        commands.arg("AUTH").arg(user).arg(password);
    }
    if db != 0 {
        commands.cmd("SELECT").arg(db);
    }
    commands
}

/// Connects to all addresses of a host at once and returns the first connection.
async fn connect(host: &Host) -> io::Result<TcpStream> {
    let mut attempts: JoinSet<_> = lookup_host((host.name.as_str(), host.port))
        .await?
        .map(connect_to)
        .collect();
    let mut latest = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    while let Some(attempt) = attempts.join_next().await {
        match attempt? {
            Ok(stream) => return Ok(stream),
            Err(error) => latest = error,
        }
    }
    Err(latest)
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
    socket.set_tcp_keepalive(&keepalive.with_interval(KEEPALIVE / 4))?;
    #[cfg(target_os = "linux")]
    {
        socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
        socket.set_tcp_notsent_lowat(UNSENT_MAX)?;
    }
    Ok(stream)
}
