//! The attempts of one call: where each is sent, what happens after an error, and when to give up.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tokio::time::{Instant, sleep};
use windlass_core::Result;

use super::conn::Conn;
use super::node::Node;
use super::request::{Asking, Request};
use super::{BoxFuture, Inner, backoff};
use crate::deadline;
use crate::error::{CallError, Recovery, Redirect};

/// Longest delay while a Cluster migrates a slot: migrations are short.
const MIGRATING_BACKOFF: Duration = Duration::from_millis(50);

/// Longest delay while a server is unreachable or busy.
const UNAVAILABLE_BACKOFF: Duration = Duration::from_millis(250);

/// Upper bound of [`CallRetry::min_attempt`].
const MIN_ATTEMPT: Duration = Duration::from_millis(100);

/// Whether a call may be sent again after it got no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resend {
    /// The call is idempotent.
    Safe,
    /// The caller gets `OutcomeUnknown`.
    Never,
}

/// The destination of one attempt.
pub(crate) struct Route {
    pub(crate) node: Arc<Node>,
    /// The slot is being imported by this node: the call must be preceded by ASKING.
    pub(crate) is_asking: bool,
}

/// The attempts of one call.
pub(crate) struct CallRetry<'a> {
    inner: &'a Inner,
    slot: u16,
    until: Instant,
    resend: Resend,
    /// How long one attempt may take without progress. An idempotent call does not spend all its time on
    /// a connection that may be dead.
    attempt_timeout: Duration,
    /// No attempt starts with less time than this: it would most likely end as unknown.
    min_attempt: Duration,
    failures: u32,
    is_unknown: bool,
    fails_if_refused: bool,
    ask: Option<Redirect>,
    node: Option<Arc<Node>>,
}

impl<'a> CallRetry<'a> {
    pub(crate) fn new(inner: &'a Inner, slot: u16, timeout: Duration, resend: Resend) -> Self {
        Self {
            inner,
            slot,
            until: deadline::at_most(Instant::now() + timeout),
            resend,
            attempt_timeout: match resend {
                Resend::Safe => timeout / 2,
                Resend::Never => timeout,
            },
            min_attempt: (timeout / 10).min(MIN_ATTEMPT),
            failures: 0,
            is_unknown: false,
            fails_if_refused: false,
            ask: None,
            node: None,
        }
    }

    /// Makes "connection refused" final instead of retrying it.
    pub(crate) fn fail_if_refused(mut self, fails_if_refused: bool) -> Self {
        self.fails_if_refused = fails_if_refused;
        self
    }

    /// Sets how long one attempt may take.
    pub(crate) fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.inner.address.timeout
    }

    /// Returns the deadline of an attempt that starts now. It may take longer while bytes move.
    pub(crate) fn deadline(&self) -> Instant {
        self.until.min(Instant::now() + self.attempt_timeout)
    }

    /// Returns the deadline of a script that is sent again by its source. The first reply may have come after
    /// its deadline, while bytes moved.
    pub(crate) fn deadline_by_source(&self) -> Instant {
        Instant::now() + self.attempt_timeout
    }

    /// Returns the destination of the next attempt, once it is known.
    pub(crate) async fn route(&mut self) -> Result<Route> {
        loop {
            match self.find_route().await {
                Ok(route) => return Ok(route),
                Err(error) => {
                    let waited: BoxFuture<'_, _> = Box::pin(self.wait_after(error));
                    waited.await?;
                }
            }
        }
    }

    async fn find_route(&mut self) -> Result<Route, CallError> {
        let topology = &self.inner.topology;
        let ask = self.ask.take();
        let node = match (&ask, &self.node) {
            (Some(ask), Some(asked)) => topology.ask_target(ask, asked),
            _ => topology.node(self.slot, self.until).await?,
        };
        self.node = Some(Arc::clone(&node));
        Ok(Route {
            node,
            is_asking: ask.is_some(),
        })
    }

    /// Backs off before the next attempt, or returns the error if no attempt is left.
    pub(crate) async fn wait_after(&mut self, error: CallError) -> Result<()> {
        self.is_unknown |= error.recovery == Recovery::Unknown;
        let max_backoff = match error.recovery {
            Recovery::Fatal => return Err(self.give_up(error)),
            Recovery::Unknown if self.resend == Resend::Never => return Err(self.give_up(error)),
            Recovery::Retry => MIGRATING_BACKOFF,
            Recovery::Rediscover if error.redirect.is_some() => MIGRATING_BACKOFF,
            Recovery::Rediscover | Recovery::BackOff | Recovery::Unknown => UNAVAILABLE_BACKOFF,
        };
        if self.fails_if_refused && error.is_refused {
            return Err(self.give_up(error));
        }
        if let Some(node) = self.node.take() {
            self.inner.topology.record_error(&node, &error);
            self.ask = error.redirect.clone().filter(|redirect| redirect.is_ask);
            self.node = self.ask.is_some().then_some(node);
        }
        // The first redirect is followed immediately.
        let delay = if error.redirect.is_some() && self.failures == 0 {
            Duration::ZERO
        } else {
            backoff::jittered(self.failures, max_backoff)
        };
        self.failures = self.failures.saturating_add(1);
        if Instant::now() + delay + self.min_attempt >= self.until {
            return Err(self.give_up(error));
        }
        sleep(delay).await;
        Ok(())
    }

    fn give_up(&self, error: CallError) -> windlass_core::Error {
        if self.is_unknown {
            error.into_error_after_unknown()
        } else {
            error.into_error()
        }
    }
}

impl Route {
    /// Returns a dedicated connection to the pool, unless a reply may still arrive on it.
    pub(crate) fn give_back<T>(&self, conn: Conn, outcome: &Result<T, CallError>) {
        if !matches!(outcome, Err(error) if error.recovery == Recovery::Unknown) {
            self.node.give_back(conn);
        }
    }

    /// Sends a command on the shared connection.
    pub(crate) async fn send(
        &self,
        request: &dyn Request,
        deadline: Instant,
    ) -> Result<Value, CallError> {
        let conn = self.node.shared(deadline).await?;
        let requests = [&Asking, request];
        let replies = conn.calls(&requests[usize::from(!self.is_asking)..], deadline);
        let reply = replies.await.and_then(|mut replies| {
            CallError::check_reply(conn.server(), replies.pop().unwrap_or(Value::Nil))
        });
        self.keep(&conn, &reply);
        reply
    }

    /// Stops using a shared connection that may be dead: the next call opens a new one.
    pub(crate) fn keep<T>(&self, conn: &Conn, outcome: &Result<T, CallError>) {
        if matches!(outcome, Err(error) if error.recovery == Recovery::Unknown) {
            self.node.discard(conn);
        }
    }
}
