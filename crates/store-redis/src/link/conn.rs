//! One connection. Every call has a deadline; once closed, a connection stays closed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo,
    IntoConnectionInfo, Pipeline, ProtocolVersion, PushInfo, PushKind, RedisConnectionInfo,
    TlsCertificates, Value,
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use windlass_core::{Error, ErrorKind, Result};

use super::BoxFuture;
use crate::address::{Login, Server, Tls};
use crate::error::{CallError, SendState};

/// TCP keepalive time: a dead connection is noticed after about this long.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`).
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Calls queued for the socket; more wait for space in the queue.
const PIPELINE_SIZE: usize = 1024;

/// Bytes buffered before the socket is written to.
const WRITE_BUFFER: usize = 256 * 1024;

/// Called for every RESP3 push message of a connection.
pub(crate) type PushHandler = Box<dyn Fn(PushInfo) + Send + Sync>;

/// How to connect to a server: login, database and TLS.
#[derive(Clone)]
pub(crate) struct ConnectOptions {
    login: Login,
    db: u32,
    certificates: Option<TlsCertificates>,
}

impl ConnectOptions {
    pub(crate) fn new(login: &Login, db: u32, tls: Option<&Tls>) -> Result<Self> {
        if tls.is_some() {
            // Fails if the process has already installed a provider, which is then used.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self {
            login: login.clone(),
            db,
            certificates: tls.map(certificates).transpose()?,
        })
    }

    /// Returns a client for one server.
    pub(crate) fn client(&self, server: &Server) -> Result<Client, CallError> {
        let mut settings = RedisConnectionInfo::default()
            .set_db(i64::from(self.db))
            .set_protocol(ProtocolVersion::RESP3)
            .set_skip_set_lib_name();
        if let Some(user) = &self.login.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.login.password {
            settings = settings.set_password(password);
        }
        let failed = |error| CallError::from_client(server, &error, SendState::NotSent);
        let info: ConnectionInfo = self
            .connection_addr(server)
            .into_connection_info()
            .map_err(failed)?
            .set_redis_settings(settings)
            .set_tcp_settings(tcp());
        match &self.certificates {
            None => Client::open(info),
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
        }
        .map_err(failed)
    }

    fn connection_addr(&self, server: &Server) -> ConnectionAddr {
        match server {
            Server::Unix(path) => ConnectionAddr::Unix(path.clone()),
            Server::Tcp(host) if self.certificates.is_some() => ConnectionAddr::TcpTls {
                host: host.name.clone(),
                port: host.port,
                insecure: false,
                tls_params: None,
            },
            Server::Tcp(host) => ConnectionAddr::Tcp(host.name.clone(), host.port),
        }
    }
}

fn certificates(tls: &Tls) -> Result<TlsCertificates> {
    let read = |path: &std::path::Path| {
        std::fs::read(path).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("cannot read the TLS file {}: {error}", path.display()),
                "correct ca, cert or key in the store URL",
            )
        })
    };
    let client_tls = match &tls.identity {
        None => None,
        Some((cert, key)) => Some(ClientTlsConfig {
            client_cert: read(cert)?,
            client_key: read(key)?,
        }),
    };
    Ok(TlsCertificates {
        client_tls,
        root_cert: tls.ca.as_deref().map(read).transpose()?,
    })
}

fn tcp() -> TcpSettings {
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE / 4);
    let settings = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(USER_TIMEOUT);
    settings
}

/// One connection. Clones share it; it closes when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Conn {
    inner: MultiplexedConnection,
    server: Arc<str>,
    closed: Arc<watch::Sender<bool>>,
}

impl Conn {
    /// Opens a connection. The caller sets the timeout.
    pub(crate) fn open(
        client: &Client,
        server: Arc<str>,
        on_push: Option<PushHandler>,
    ) -> BoxFuture<'_, Result<Self, CallError>> {
        Box::pin(Self::connect(client, server, on_push))
    }

    async fn connect(
        client: &Client,
        server: Arc<str>,
        on_push: Option<PushHandler>,
    ) -> Result<Self, CallError> {
        let closed = Arc::new(watch::Sender::new(false));
        let weak_closed = Arc::downgrade(&closed);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_SIZE)
            .set_write_backpressure_boundary(WRITE_BUFFER)
            .set_push_sender(move |push: PushInfo| {
                let is_disconnection = push.kind == PushKind::Disconnection;
                if let Some(on_push) = &on_push {
                    on_push(push);
                }
                if is_disconnection {
                    mark_closed(&weak_closed);
                }
                Ok::<(), redis::aio::SendError>(())
            });
        let inner = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|error| CallError::from_client(&server, &error, SendState::NotSent))?;
        Ok(Self {
            inner,
            server,
            closed,
        })
    }

    /// Sends one command and waits for its reply.
    pub(crate) async fn call(&self, cmd: &Cmd, until: Instant) -> Result<Value, CallError> {
        let mut inner = self.inner.clone();
        let reply = self.wait_for(inner.send_packed_command(cmd), until).await?;
        CallError::check_reply(&self.server, reply)
    }

    /// Sends a pipeline. An error reply of one command stays in its position.
    pub(crate) async fn calls(
        &self,
        cmds: &Pipeline,
        until: Instant,
    ) -> Result<Vec<Value>, CallError> {
        let mut inner = self.inner.clone();
        let replies = inner.send_packed_commands(cmds, 0, cmds.len());
        self.wait_for(replies, until).await
    }

    async fn wait_for<T>(
        &self,
        reply: impl Future<Output = redis::RedisResult<T>>,
        until: Instant,
    ) -> Result<T, CallError> {
        let mut closed = self.closed.subscribe();
        if *closed.borrow_and_update() {
            return Err(CallError::not_sent(&self.server));
        }
        tokio::select! {
            biased;
            reply = timeout_at(until, reply) => match reply {
            Ok(reply) => reply.map_err(|error| CallError::from_client(&self.server, &error, SendState::Sent)),
            Err(_) => Err(CallError::no_reply(&self.server, "timed out")),
            },
            _ = closed.wait_for(|closed| *closed) => {
            Err(CallError::no_reply(&self.server, "the connection was closed"))
            }
        }
    }

    /// Whether the connection is known to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Returns a handle that can close the connection and does not keep it open.
    pub(crate) fn close_handle(&self) -> CloseHandle {
        CloseHandle(Arc::downgrade(&self.closed))
    }

    /// Whether both are clones of one connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.closed, &other.closed)
    }

    /// The address of the server, for messages.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.server
    }
}

/// Closes a connection without keeping it open.
pub(crate) struct CloseHandle(Weak<watch::Sender<bool>>);

impl CloseHandle {
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(crate) fn close(&self) {
        mark_closed(&self.0);
    }
}

fn mark_closed(closed: &Weak<watch::Sender<bool>>) {
    if let Some(closed) = closed.upgrade() {
        closed.send_replace(true);
    }
}
