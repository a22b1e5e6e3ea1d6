//! One server: the shared connection and a pool of dedicated ones.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::conn::{CloseHandle, Conn};
use super::dial::ConnectOptions;
use super::wire::PushHandler;
use super::{BoxFuture, backoff, lock};
use crate::address::Server;
use crate::error::{CallError, Recovery};

/// Timeout of one connection attempt. After a lost packet, a new attempt is faster than waiting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Dedicated connections kept idle for reuse. With `replicated:N` each claim in flight uses one:
/// beyond this number, each call would open its own.
const MAX_IDLE: usize = 128;

/// Longest delay between two connection attempts.
const MAX_BACKOFF: Duration = Duration::from_millis(500);

pub(crate) struct Node {
    server: Server,
    name: Arc<str>,
    options: ConnectOptions,
    shared: Mutex<Option<Conn>>,
    idle: Mutex<Vec<Conn>>,
    close_handles: Mutex<Vec<CloseHandle>>,
    connecting: tokio::sync::Mutex<ConnectState>,
}

/// The result of the latest connection attempts.
#[derive(Default)]
struct ConnectState {
    failures: u32,
    not_before: Option<Instant>,
    latest: Option<(Instant, CallError)>,
}

impl Node {
    pub(crate) fn new(server: &Server, options: &ConnectOptions) -> Arc<Self> {
        Arc::new(Self {
            name: server.to_string().into(),
            options: options.clone(),
            server: server.clone(),
            shared: Mutex::default(),
            idle: Mutex::default(),
            close_handles: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        })
    }

    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// The address, for messages.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the connection that all calls share, opening it if necessary.
    pub(crate) async fn shared(&self, until: Instant) -> Result<Conn, CallError> {
        if let Some(conn) = self.current() {
            return Ok(conn);
        }
        let started = Instant::now();
        let connected: BoxFuture<'_, _> = Box::pin(async move {
            let mut connecting = self.connecting.lock().await;
            if let Some(conn) = self.current() {
                return Ok(conn);
            }
            // Another caller tried while this one waited for the lock: share its error.
            if let Some((at, error)) = &connecting.latest
                && *at > started
            {
                return Err(error.clone());
            }
            connecting.wait().await;
            let outcome = self.connect(None).await;
            connecting.record(&outcome);
            let conn = outcome?;
            *lock(&self.shared) = Some(conn.clone());
            Ok(conn)
        });
        timeout_at(until, connected)
            .await
            .unwrap_or_else(|_| Err(self.timed_out(until - started)))
    }

    /// Returns a connection for one caller only. Return it with [`Node::give_back`] once every reply
    /// has been read.
    pub(crate) async fn dedicated(&self, until: Instant) -> Result<Conn, CallError> {
        while let Some(conn) = lock(&self.idle).pop() {
            if !conn.is_closed() {
                return Ok(conn);
            }
        }
        self.open_dedicated(None, until).await
    }

    /// Opens a connection for one caller only; `on_push` receives its push messages.
    pub(crate) async fn open_dedicated(
        &self,
        on_push: Option<PushHandler>,
        until: Instant,
    ) -> Result<Conn, CallError> {
        let started = Instant::now();
        let connected: BoxFuture<'_, _> = Box::pin(async move {
            self.connecting.lock().await.wait().await;
            let outcome = self.connect(on_push).await;
            self.connecting.lock().await.record(&outcome);
            outcome
        });
        timeout_at(until, connected)
            .await
            .unwrap_or_else(|_| Err(self.timed_out(until - started)))
    }

    /// The error of a caller whose time is over. Why an earlier attempt failed says more than that.
    fn timed_out(&self, after: Duration) -> CallError {
        let connecting = self.connecting.try_lock();
        let latest = connecting.ok().and_then(|state| state.latest.clone());
        latest.map_or_else(
            || CallError::connect_timeout(&self.name, after),
            |(_, error)| error,
        )
    }

    /// Sends a command that only reads. Without a reply, the outcome of the caller's call is not unknown.
    pub(crate) async fn query(&self, cmd: &Cmd, timeout: Duration) -> Result<Value, CallError> {
        let until = Instant::now() + timeout;
        let conn = self.shared(until).await?;
        let reply = conn.call(cmd, until).await;
        reply.map_err(|error| match error.recovery {
            Recovery::Unknown => {
                self.discard(&conn);
                CallError::no_server(format!("no reply from {}", self.name))
            }
            _ => error,
        })
    }

    /// Returns a connection with no call in flight to the pool.
    pub(crate) fn give_back(&self, conn: Conn) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE && !conn.is_closed() {
            idle.push(conn);
        }
    }

    /// Stops using a shared connection for new calls; calls in flight keep it.
    pub(crate) fn discard(&self, conn: &Conn) {
        let mut shared = lock(&self.shared);
        if shared.as_ref().is_some_and(|current| current.is(conn)) {
            *shared = None;
        }
    }

    /// Closes every connection to this server; calls in flight fail immediately.
    pub(crate) fn close_all(&self) {
        lock(&self.shared).take();
        lock(&self.idle).clear();
        for close_handle in lock(&self.close_handles).drain(..) {
            close_handle.close();
        }
    }

    /// Whether the shared connection is open.
    pub(crate) fn is_connected(&self) -> bool {
        self.current().is_some()
    }

    fn current(&self) -> Option<Conn> {
        let mut shared = lock(&self.shared);
        if shared.as_ref().is_some_and(Conn::is_closed) {
            *shared = None;
        }
        shared.clone()
    }

    async fn connect(&self, on_push: Option<PushHandler>) -> Result<Conn, CallError> {
        let opened = Conn::open(&self.options, &self.server, Arc::clone(&self.name), on_push);
        let conn = tokio::time::timeout(CONNECT_TIMEOUT, opened)
            .await
            .unwrap_or_else(|_| Err(CallError::connect_timeout(&self.name, CONNECT_TIMEOUT)))?;
        let mut close_handles = lock(&self.close_handles);
        close_handles.retain(|close_handle| !close_handle.is_dropped());
        close_handles.push(conn.close_handle());
        Ok(conn)
    }
}

impl ConnectState {
    async fn wait(&self) {
        if let Some(not_before) = self.not_before {
            sleep_until(not_before).await;
        }
    }

    fn record(&mut self, outcome: &Result<Conn, CallError>) {
        match outcome {
            Ok(_) => *self = Self::default(),
            Err(error) => {
                let now = Instant::now();
                self.not_before = Some(now + backoff::jittered(self.failures, MAX_BACKOFF));
                self.failures = self.failures.saturating_add(1);
                self.latest = Some((now, error.clone()));
            }
        }
    }
}
