//! The tries of one call: where it is sent, what is done after a fault, and when to give up.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::time::{Instant, sleep};
use windlass_core::Result;

use super::conn::Conn;
use super::node::Node;
use super::{Inner, Seldom, backoff};
use crate::error::{Course, Fault, Redirect};

/// The longest pause while a Cluster moves a slot: nothing is wrong, it is over any moment.
const MOVING_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause while a server is away or busy.
const AWAY_PAUSE: Duration = Duration::from_millis(250);

/// The least time that is left for a try.
const LEAST: Duration = Duration::from_millis(100);

/// Whether a call may be sent again after it got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It may: the store tells the same again, or changes nothing.
    Safe,
    /// The caller wants to know.
    Never,
}

/// Where one try goes.
pub(crate) struct Route {
    pub(crate) node: Arc<Node>,
    /// The slot is being moved there, and the node has to be told that we know.
    pub(crate) is_asking: bool,
}

/// The tries of one call.
pub(crate) struct Tries<'a> {
    inner: &'a Inner,
    slot: u16,
    until: Instant,
    repeat: Repeat,
    /// How long one try may take: a call that may be repeated does not spend all its time on a
    /// connection that is silently dead.
    one: Duration,
    /// A try that had less time would most likely end as unknown, for nothing.
    least: Duration,
    failures: u32,
    is_unknown: bool,
    is_impatient: bool,
    ask: Option<Redirect>,
    node: Option<Arc<Node>>,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(inner: &'a Inner, slot: u16, timeout: Duration, repeat: Repeat) -> Self {
        Self {
            inner,
            slot,
            until: Instant::now() + timeout,
            repeat,
            one: match repeat {
                Repeat::Safe => timeout / 2,
                Repeat::Never => timeout,
            },
            least: (timeout / 10).min(LEAST),
            failures: 0,
            is_unknown: false,
            is_impatient: false,
            ask: None,
            node: None,
        }
    }

    /// Takes it as final that nobody listens where the server should be.
    pub(crate) fn impatient(mut self, is_impatient: bool) -> Self {
        self.is_impatient = is_impatient;
        self
    }

    /// Lets one try take this long.
    pub(crate) fn lasting(mut self, one: Duration) -> Self {
        self.one = one;
        self
    }

    /// When this try has to be over.
    pub(crate) fn limit(&self) -> Instant {
        self.until.min(Instant::now() + self.one)
    }

    /// Where the next try goes.
    pub(crate) async fn route(&mut self) -> Result<Route, Fault> {
        let topology = &self.inner.topology;
        let ask = self.ask.take();
        let node = match (&ask, &self.node) {
            (Some(ask), Some(asked)) => topology.asked(ask, asked)?,
            _ => topology.node(self.slot, self.until).await?,
        };
        self.node = Some(Arc::clone(&node));
        Ok(Route {
            node,
            is_asking: ask.is_some(),
        })
    }

    /// Pauses before the next try, or gives up.
    pub(crate) async fn after(&mut self, fault: Fault) -> Result<()> {
        self.is_unknown |= fault.course == Course::Unknown;
        let longest = match fault.course {
            Course::Fatal => return Err(self.give_up(fault)),
            Course::Unknown if self.repeat == Repeat::Never => return Err(self.give_up(fault)),
            Course::Again => MOVING_PAUSE,
            Course::Rediscover if fault.redirect.is_some() => MOVING_PAUSE,
            Course::Rediscover | Course::BackOff | Course::Unknown => AWAY_PAUSE,
        };
        if self.is_impatient && fault.is_refused {
            return Err(self.give_up(fault));
        }
        if let Some(node) = self.node.take() {
            self.inner.topology.heard(&node, &fault);
            self.ask = fault.redirect.clone().filter(|redirect| redirect.is_ask);
            self.node = self.ask.is_some().then_some(node);
        }
        // The first redirect is followed at once.
        let pause = if fault.redirect.is_some() && self.failures == 0 {
            Duration::ZERO
        } else {
            backoff::jittered(self.failures, longest)
        };
        self.failures = self.failures.saturating_add(1);
        if Instant::now() + pause + self.least >= self.until {
            return Err(self.give_up(fault));
        }
        sleep(pause).await;
        Ok(())
    }

    fn give_up(&self, fault: Fault) -> windlass_core::Error {
        if self.is_unknown {
            fault.into_error_after_unknown()
        } else {
            fault.into_error()
        }
    }
}

impl Route {
    /// Sends a command on the connection all calls share.
    pub(crate) async fn send(&self, cmd: &Cmd, limit: Instant) -> Result<Value, Fault> {
        let conn = self.node.shared(limit).await?;
        let answer = if self.is_asking {
            let asked: Seldom<'_, _> = Box::pin(ask(&conn, cmd, limit));
            asked.await
        } else {
            conn.call(cmd, limit).await
        };
        if let Err(fault) = &answer
            && fault.course == Course::Unknown
        {
            // Silence may mean a dead line: the next call takes a new one.
            self.node.forget(&conn);
        }
        answer
    }
}

/// Tells the node right before the command that we know of the slot's move.
async fn ask(conn: &Conn, cmd: &Cmd, limit: Instant) -> Result<Value, Fault> {
    let mut cmds = Pipeline::with_capacity(2);
    cmds.cmd("ASKING").add_command(cmd.clone());
    let mut answers = conn.calls(&cmds, limit).await?;
    Fault::in_value(conn.server(), answers.pop().unwrap_or(Value::Nil))
}
