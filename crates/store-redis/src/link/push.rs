//! Subscriptions on dedicated connections, whose push messages go to one bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::conn::{Conn, PushHandler};
use super::node::Node;
use crate::error::CallError;

/// Messages that may be queued; more are dropped and reported as an overflow.
const CAPACITY: usize = 4096;

/// The kind of pub/sub channels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChannelKind {
    /// Regular pub/sub (SUBSCRIBE).
    Plain,
    /// Sharded pub/sub, by hash slot (SSUBSCRIBE).
    Sharded,
}

/// A push message of a subscription.
#[derive(Debug)]
pub(crate) enum Push {
    /// A published message.
    Message {
        /// The channel.
        channel: Bytes,
        /// The payload.
        bytes: Bytes,
    },
    /// The subscription ended: the connection was lost or the slot moved.
    Ended,
}

/// The queue of push messages from several connections.
pub(crate) struct PushReceiver {
    sender: mpsc::Sender<Push>,
    receiver: mpsc::Receiver<Push>,
    has_overflowed: Arc<AtomicBool>,
}

impl PushReceiver {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        Self {
            sender,
            receiver,
            has_overflowed: Arc::default(),
        }
    }

    /// Subscribes to channels on one server. The subscription ends when the connection is dropped.
    pub(crate) async fn subscribe(
        &self,
        node: &Node,
        kind: ChannelKind,
        channels: &[Bytes],
        until: Instant,
    ) -> Result<Conn, CallError> {
        let conn = node.open_dedicated(Some(self.handler()), until).await?;
        let mut cmds = Pipeline::with_capacity(channels.len());
        for channel in channels {
            // One command per channel: a command's channels must share a slot.
            let verb = match kind {
                ChannelKind::Plain => "SUBSCRIBE",
                ChannelKind::Sharded => "SSUBSCRIBE",
            };
            cmds.cmd(verb).arg(channel.as_ref());
        }
        for reply in conn.calls(&cmds, until).await? {
            CallError::check_reply(conn.server(), reply)?;
        }
        Ok(conn)
    }

    /// Waits for the next message.
    pub(crate) async fn next(&mut self) -> Push {
        // Never closed: `self` holds a sender.
        self.receiver.recv().await.unwrap_or(Push::Ended)
    }

    /// Returns whether messages were dropped since the last call.
    pub(crate) fn take_overflow(&self) -> bool {
        self.has_overflowed.swap(false, Ordering::Relaxed)
    }

    fn handler(&self) -> PushHandler {
        let sender = self.sender.clone();
        let has_overflowed = Arc::clone(&self.has_overflowed);
        Box::new(move |push| {
            if let Some(message) = parse(push)
                && sender.try_send(message).is_err()
            {
                has_overflowed.store(true, Ordering::Relaxed);
            }
        })
    }
}

fn parse(push: PushInfo) -> Option<Push> {
    match push.kind {
        PushKind::Message | PushKind::SMessage => {
            let mut data = push.data.into_iter().map(bytes);
            Some(Push::Message {
                channel: data.next()??,
                bytes: data.next()??,
            })
        }
        PushKind::Disconnection | PushKind::SUnsubscribe | PushKind::Unsubscribe => {
            Some(Push::Ended)
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
