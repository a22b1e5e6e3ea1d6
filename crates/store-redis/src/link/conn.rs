//! One connection: opened with our settings, every call with a deadline, lost at most once.

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

use super::Seldom;
use crate::address::{Login, Server, Tls};
use crate::error::{Fault, Phase};

/// A dead line is noticed after this long without a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// How long sent bytes may stay unconfirmed by the other machine.
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Calls that wait in line for the socket; more wait outside.
const LINE: usize = 1024;

/// Bytes gathered before the socket is written to.
const WRITE_BUFFER: usize = 256 * 1024;

/// What is pushed on a connection without having been asked for.
pub(crate) type Pushes = Box<dyn Fn(PushInfo) + Send + Sync>;

/// How to come in at a server: who we are, and how the line is protected.
#[derive(Clone)]
pub(crate) struct Entrance {
    login: Login,
    db: u32,
    certificates: Option<TlsCertificates>,
}

impl Entrance {
    pub(crate) fn new(login: &Login, db: u32, tls: Option<&Tls>) -> Result<Self> {
        if tls.is_some() {
            // Whoever was first has chosen; a process may have chosen another provider itself.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Self {
            login: login.clone(),
            db,
            certificates: tls.map(certificates).transpose()?,
        })
    }

    /// What is needed to dial one server.
    pub(crate) fn dialer(&self, server: &Server) -> Result<Client, Fault> {
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
        let broken = |error| Fault::met(server, &error, Phase::Connecting);
        let info: ConnectionInfo = self
            .place(server)
            .into_connection_info()
            .map_err(broken)?
            .set_redis_settings(settings)
            .set_tcp_settings(tcp());
        match &self.certificates {
            None => Client::open(info),
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
        }
        .map_err(broken)
    }

    fn place(&self, server: &Server) -> ConnectionAddr {
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
                format!(
                    "the file {} for TLS cannot be read: {error}",
                    path.display()
                ),
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

/// One connection; clones share it. It closes with its last clone.
#[derive(Clone)]
pub(crate) struct Conn {
    inner: MultiplexedConnection,
    server: Arc<str>,
    gone: Arc<watch::Sender<bool>>,
}

impl Conn {
    /// Opens a connection; whoever asks bounds the time.
    pub(crate) fn open(
        client: &Client,
        server: Arc<str>,
        pushes: Option<Pushes>,
    ) -> Seldom<'_, Result<Self, Fault>> {
        Box::pin(Self::dial(client, server, pushes))
    }

    async fn dial(
        client: &Client,
        server: Arc<str>,
        pushes: Option<Pushes>,
    ) -> Result<Self, Fault> {
        let gone = Arc::new(watch::Sender::new(false));
        let noticed = Arc::downgrade(&gone);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(LINE)
            .set_write_backpressure_boundary(WRITE_BUFFER)
            .set_push_sender(move |push: PushInfo| {
                let is_end = push.kind == PushKind::Disconnection;
                if let Some(pushes) = &pushes {
                    pushes(push);
                }
                if is_end {
                    mark(&noticed);
                }
                Ok::<(), redis::aio::SendError>(())
            });
        let inner = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|error| Fault::met(&server, &error, Phase::Connecting))?;
        Ok(Self {
            inner,
            server,
            gone,
        })
    }

    /// Sends one command and waits for its answer.
    pub(crate) async fn call(&self, cmd: &Cmd, until: Instant) -> Result<Value, Fault> {
        let mut inner = self.inner.clone();
        let answer = self.answered(inner.send_packed_command(cmd), until).await?;
        Fault::in_value(&self.server, answer)
    }

    /// Sends commands one right behind the other; errors are left in their places.
    pub(crate) async fn calls(&self, cmds: &Pipeline, until: Instant) -> Result<Vec<Value>, Fault> {
        let mut inner = self.inner.clone();
        let answers = inner.send_packed_commands(cmds, 0, cmds.len());
        self.answered(answers, until).await
    }

    async fn answered<T>(
        &self,
        answer: impl Future<Output = redis::RedisResult<T>>,
        until: Instant,
    ) -> Result<T, Fault> {
        let mut gone = self.gone.subscribe();
        if *gone.borrow_and_update() {
            return Err(Fault::unsent(&self.server));
        }
        tokio::select! {
            biased;
            answer = timeout_at(until, answer) => match answer {
                Ok(answer) => answer.map_err(|error| Fault::met(&self.server, &error, Phase::Sent)),
                Err(_) => Err(Fault::unanswered(&self.server, "time ran out")),
            },
            _ = gone.wait_for(|gone| *gone) => {
                Err(Fault::unanswered(&self.server, "the connection was given up"))
            }
        }
    }

    /// Whether the connection is known to be lost.
    pub(crate) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// A handle that gives the connection up and does not keep it open.
    pub(crate) fn leash(&self) -> Leash {
        Leash(Arc::downgrade(&self.gone))
    }

    /// Whether both are clones of one connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.gone, &other.gone)
    }

    /// The name of the server, for messages.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.server
    }
}

/// Gives a connection up from afar.
pub(crate) struct Leash(Weak<watch::Sender<bool>>);

impl Leash {
    pub(crate) fn is_loose(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(crate) fn give_up(&self) {
        mark(&self.0);
    }
}

fn mark(gone: &Weak<watch::Sender<bool>>) {
    if let Some(gone) = gone.upgrade() {
        gone.send_replace(true);
    }
}
