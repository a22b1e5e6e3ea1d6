//! One connection. Every call has a deadline; once closed, a connection stays closed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use redis::Value;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::dial::{ConnectOptions, DialError};
use super::progress::{CallDeadline, LinkProgress};
use super::request::Request;
use super::stream::MeteredStream;
use super::wire::{Cause, Driver, Failure, PushHandler, Replies, Started, Wire};
use crate::address::Server;
use crate::error::{CallError, SendState};

/// Longer than any caller waits for a connection.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);

/// One connection. Clones share it; it closes when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Conn(Arc<Inner>);

struct Inner {
    server: Arc<str>,
    wire: Arc<Wire>,
    progress: Arc<LinkProgress>,
    task: AbortHandle,
}

/// The task ends with the last clone, whatever is in flight.
impl Drop for Inner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A request whose replies are in flight.
pub(crate) struct Sent<'a> {
    conn: &'a Conn,
    replies: Replies,
}

impl Conn {
    /// Opens a connection. The caller sets the timeout.
    pub(crate) async fn open(
        options: &ConnectOptions,
        server: &Server,
        name: Arc<str>,
        on_push: Option<PushHandler>,
    ) -> Result<Self, CallError> {
        let failed = |error| match error {
            DialError::Failed(error) => CallError::from_client(&name, &error, SendState::NotSent),
            DialError::SilentHandshake => CallError::silent_handshake(&name),
        };
        let progress = LinkProgress::new(Some(Arc::clone(&options.progress)));
        let stream = options.dial(server).await.map_err(failed)?;
        let stream = MeteredStream::new(stream, Arc::clone(&progress));
        let wire = Wire::new(stream, Arc::clone(&progress));
        let driver = Driver::new(Arc::clone(&wire), options.reply_bytes_max, on_push);
        let conn = Self(Arc::new(Inner {
            server: name,
            wire,
            progress,
            task: tokio::spawn(driver).abort_handle(),
        }));
        conn.log_in(options).await?;
        Ok(conn)
    }

    async fn log_in(&self, options: &ConnectOptions) -> Result<(), CallError> {
        let deadline = CallDeadline::new(Instant::now() + LOGIN_TIMEOUT);
        let Started::Sent(replies) = self.0.wire.start(&[&options.login], deadline) else {
            return Err(CallError::not_sent(&self.0.server));
        };
        let replies = match replies.await {
            Ok(Ok(replies)) => replies,
            // Whatever was sent, it was no call.
            Ok(Err(failure)) => return Err(self.failure(&failure, SendState::NotSent)),
            Err(_) => return Err(CallError::not_sent(&self.0.server)),
        };
        for reply in replies {
            if is_hello_unknown(&reply) {
                let error = (redis::ErrorKind::RESP3NotSupported, "no HELLO").into();
                return Err(CallError::from_client(
                    &self.0.server,
                    &error,
                    SendState::NotSent,
                ));
            }
            CallError::check_reply(&self.0.server, reply)?;
        }
        Ok(())
    }

    /// Sends one command and waits for its reply.
    pub(crate) async fn call(
        &self,
        request: &dyn Request,
        until: Instant,
    ) -> Result<Value, CallError> {
        let mut replies = self.calls(&[request], until).await?;
        CallError::check_reply(&self.0.server, replies.pop().unwrap_or(Value::Nil))
    }

    /// Sends commands together. An error reply of one command stays in its position.
    pub(crate) async fn calls(
        &self,
        requests: &[&dyn Request],
        until: Instant,
    ) -> Result<Vec<Value>, CallError> {
        self.start(requests, until).await?.replies().await
    }

    /// Sends commands without waiting for the replies. They are given up at `until`, or later while bytes
    /// move on the connection.
    pub(crate) async fn start(
        &self,
        requests: &[&dyn Request],
        until: Instant,
    ) -> Result<Sent<'_>, CallError> {
        let Inner { wire, server, .. } = &*self.0;
        let mut deadline = CallDeadline::new(until);
        loop {
            match wire.start(requests, deadline) {
                Started::Sent(replies) => {
                    return Ok(Sent {
                        conn: self,
                        replies,
                    });
                }
                Started::Full => {
                    let space = self.0.progress.wait_until(&mut deadline, wire.space());
                    if Box::pin(space).await.is_none() {
                        return Err(CallError::not_sent_in_time(server));
                    }
                }
                Started::Closed(cause) => {
                    let is_sent = false;
                    let failure = Failure { cause, is_sent };
                    return Err(self.failure(&failure, SendState::Sent));
                }
            }
        }
    }

    fn failure(&self, failure: &Failure, state: SendState) -> CallError {
        let server = &self.0.server;
        match &failure.cause {
            Cause::TooLarge(too_large) => {
                CallError::unexpected_reply(server, &too_large.to_string())
            }
            Cause::Lost(error) if failure.is_sent || state == SendState::NotSent => {
                CallError::from_client(server, error, state)
            }
            _ if !failure.is_sent => CallError::not_sent(server),
            Cause::TimedOut => CallError::no_reply(server, "timed out"),
            Cause::Lost(_) | Cause::Closed => {
                CallError::no_reply(server, "the connection was closed")
            }
        }
    }

    /// Whether the connection is known to be closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.wire.is_closed()
    }

    /// Returns a handle that can close the connection and does not keep it open.
    pub(crate) fn close_handle(&self) -> CloseHandle {
        CloseHandle(Arc::downgrade(&self.0))
    }

    /// Whether both are clones of one connection.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The address of the server, for messages.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.0.server
    }
}

impl Sent<'_> {
    /// Waits for the replies.
    pub(crate) async fn replies(self) -> Result<Vec<Value>, CallError> {
        let replies = self.replies.await.unwrap_or_else(|_| {
            // The task has ended, and with it the connection.
            let (cause, is_sent) = (Cause::Closed, true);
            Err(Failure { cause, is_sent })
        });
        replies.map_err(|failure| self.conn.failure(&failure, SendState::Sent))
    }
}

/// Closes a connection without keeping it open.
pub(crate) struct CloseHandle(Weak<Inner>);

impl CloseHandle {
    pub(crate) fn is_dropped(&self) -> bool {
        self.0.strong_count() == 0
    }

    pub(crate) fn close(&self) {
        if let Some(conn) = self.0.upgrade() {
            conn.wire.close(&Cause::Closed);
        }
    }
}

fn is_hello_unknown(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(error)
        if error.details().is_some_and(|text| text.starts_with("unknown command")))
}
