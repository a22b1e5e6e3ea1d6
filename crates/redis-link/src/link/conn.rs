//! One connection. Every call has a deadline; once closed, a connection stays closed.

use std::sync::{Arc, Weak};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, PushInfo, PushKind, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::dial::ConnectOptions;
use super::progress::LinkProgress;
use super::reply_limit::Exceeded;
use super::stream::MeteredStream;
use crate::address::Server;
use crate::error::{CallError, SendState};

/// Calls queued for the socket; more wait for space in the queue.
const PIPELINE_SIZE: usize = 1024;

/// Bytes buffered before the socket is written to.
const WRITE_BUFFER: usize = 256 * 1024;

/// Called for every RESP3 push message of a connection.
pub(crate) type PushHandler = Box<dyn Fn(PushInfo) + Send + Sync>;

/// One connection. Clones share it; it closes when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Conn {
    inner: MultiplexedConnection,
    server: Arc<str>,
    closed: Arc<watch::Sender<bool>>,
    progress: Arc<LinkProgress>,
    exceeded: Exceeded,
    _task: Arc<AbortOnDrop>,
}

impl Conn {
    /// Opens a connection. The caller sets the timeout.
    pub(crate) async fn open(
        options: &ConnectOptions,
        server: &Server,
        name: Arc<str>,
        on_push: Option<PushHandler>,
    ) -> Result<Self, CallError> {
        let closed = Arc::new(watch::Sender::new(false));
        let close_handle = CloseHandle(Arc::downgrade(&closed));
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
                    close_handle.close();
                }
                Ok::<(), redis::aio::SendError>(())
            });
        let exceeded = Exceeded::default();
        let failed = |error| {
            let error = CallError::from_client(&name, &error, SendState::NotSent);
            explain(error, &name, &exceeded)
        };
        let progress = LinkProgress::new(Some(Arc::clone(&options.progress)));
        let stream = options.dial(server).await.map_err(failed)?;
        let stream = MeteredStream::new(
            stream,
            Arc::clone(&progress),
            options.reply_bytes_max,
            Arc::clone(&exceeded),
        );
        let (inner, driver) =
            MultiplexedConnection::new_with_config(&options.settings, stream, config)
                .await
                .map_err(failed)?;
        let task = tokio::spawn(driver).abort_handle();
        Ok(Self {
            inner,
            server: name,
            closed,
            progress,
            exceeded,
            _task: Arc::new(AbortOnDrop(task)),
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

    /// Waits until `until`, or longer while bytes move on the connection.
    async fn wait_for<T>(
        &self,
        reply: impl Future<Output = redis::RedisResult<T>>,
        until: Instant,
    ) -> Result<T, CallError> {
        let mut closed = self.closed.subscribe();
        if *closed.borrow_and_update() {
            return Err(CallError::not_sent(&self.server));
        }
        let reply = tokio::select! {
            biased;
            reply = self.progress.wait(until, reply) => match reply {
            Some(reply) => reply.map_err(|error| CallError::from_client(&self.server, &error, SendState::Sent)),
            None => Err(CallError::no_reply(&self.server, "timed out")),
            },
            _ = closed.wait_for(|closed| *closed) => {
            Err(CallError::no_reply(&self.server, "the connection was closed"))
            }
        };
        reply.map_err(|error| explain(error, &self.server, &self.exceeded))
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

/// The task that drives a connection; it ends with the last clone, whatever is in flight.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Closes a connection without keeping it open.
pub(crate) struct CloseHandle(Weak<watch::Sender<bool>>);

impl CloseHandle {
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(crate) fn close(&self) {
        if let Some(closed) = self.0.upgrade() {
            closed.send_replace(true);
        }
    }
}

/// Replaces the error of a connection that a reply has ended.
fn explain(error: CallError, server: &Arc<str>, exceeded: &Exceeded) -> CallError {
    exceeded.get().map_or(error, |too_large| {
        CallError::unexpected_reply(server, &too_large.to_string())
    })
}
