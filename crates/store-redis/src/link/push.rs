//! Subscriptions: on connections of their own, what is pushed handed over in one line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::conn::{Conn, Pushes};
use super::node::Node;
use crate::error::Fault;

/// What may wait to be heard; more is dropped, and that is told.
const LINE: usize = 4096;

/// What kind of channels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Channels {
    /// Of the whole server.
    Plain,
    /// Of one slot.
    Sharded,
}

/// What a server pushes.
#[derive(Debug)]
pub(crate) enum Pushed {
    /// Somebody published something.
    Message {
        /// Where.
        channel: Bytes,
        /// What.
        bytes: Bytes,
    },
    /// A subscription ended: the connection is lost, or the slot moved.
    Ended,
}

/// One line for the pushes of several connections.
pub(crate) struct Ear {
    sender: mpsc::Sender<Pushed>,
    pushed: mpsc::Receiver<Pushed>,
    is_overrun: Arc<AtomicBool>,
}

impl Ear {
    pub(crate) fn new() -> Self {
        let (sender, pushed) = mpsc::channel(LINE);
        Self {
            sender,
            pushed,
            is_overrun: Arc::default(),
        }
    }

    /// Subscribes to channels at one server; the connection has to be kept.
    pub(crate) async fn subscribe(
        &self,
        node: &Node,
        kind: Channels,
        channels: &[Bytes],
        until: Instant,
    ) -> Result<Conn, Fault> {
        let conn = node.fresh(Some(self.pushes()), until).await?;
        let mut cmds = Pipeline::with_capacity(channels.len());
        for channel in channels {
            // One at a time: several in one command have to be of one slot.
            let verb = match kind {
                Channels::Plain => "SUBSCRIBE",
                Channels::Sharded => "SSUBSCRIBE",
            };
            cmds.cmd(verb).arg(channel.as_ref());
        }
        for answer in conn.calls(&cmds, until).await? {
            Fault::in_value(conn.server(), answer)?;
        }
        Ok(conn)
    }

    /// What is pushed next.
    pub(crate) async fn next(&mut self) -> Pushed {
        // It cannot end: this value holds a sender.
        self.pushed.recv().await.unwrap_or(Pushed::Ended)
    }

    /// Whether something was dropped since this was asked last.
    pub(crate) fn was_overrun(&self) -> bool {
        self.is_overrun.swap(false, Ordering::Relaxed)
    }

    fn pushes(&self) -> Pushes {
        let sender = self.sender.clone();
        let is_overrun = Arc::clone(&self.is_overrun);
        Box::new(move |push| {
            if let Some(pushed) = read(push)
                && sender.try_send(pushed).is_err()
            {
                is_overrun.store(true, Ordering::Relaxed);
            }
        })
    }
}

fn read(push: PushInfo) -> Option<Pushed> {
    match push.kind {
        PushKind::Message | PushKind::SMessage => {
            let mut data = push.data.into_iter().map(bytes);
            Some(Pushed::Message {
                channel: data.next()??,
                bytes: data.next()??,
            })
        }
        PushKind::Disconnection | PushKind::SUnsubscribe | PushKind::Unsubscribe => {
            Some(Pushed::Ended)
        }
        _ => None,
    }
}

fn bytes(value: Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(bytes.into()),
        Value::SimpleString(text) => Some(text.into()),
        _ => None,
    }
}
