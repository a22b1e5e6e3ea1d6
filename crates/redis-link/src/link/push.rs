//! Subscriptions on dedicated connections, whose push messages go to one bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::conn::Conn;
use super::node::Node;
use super::wire::PushHandler;
use crate::error::CallError;

/// Messages that may be queued; more are dropped and reported as an overflow.
const CAPACITY: usize = 4096;

/// Bytes of messages that may be queued, likewise.
const CAPACITY_BYTES: usize = 16 * 1024 * 1024;

/// The kind of pub/sub channels.
#[derive(Debug, Clone, Copy)]
pub enum ChannelKind {
    /// Regular pub/sub (SUBSCRIBE).
    Plain,
    /// Sharded pub/sub, by hash slot (SSUBSCRIBE).
    Sharded,
}

/// The channel and the payload of a published message; `None` if the subscription ended, because the
/// connection was lost or the slot moved.
pub(crate) type Push = Option<(Bytes, Bytes)>;

fn size(push: &Push) -> usize {
    let message = push.as_ref();
    message.map_or(0, |(channel, bytes)| channel.len() + bytes.len())
}

/// The queue of push messages from several connections.
pub(crate) struct PushReceiver {
    sender: mpsc::Sender<Push>,
    receiver: mpsc::Receiver<Push>,
    queued_bytes: Arc<AtomicUsize>,
    has_overflowed: Arc<AtomicBool>,
}

impl PushReceiver {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        Self {
            sender,
            receiver,
            queued_bytes: Arc::default(),
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
        for reply in conn.calls(&[&cmds], until).await? {
            CallError::check_reply(conn.server(), reply)?;
        }
        Ok(conn)
    }

    pub(crate) async fn next(&mut self) -> Push {
        // Never closed: `self` holds a sender.
        let push = self.receiver.recv().await.flatten();
        self.queued_bytes.fetch_sub(size(&push), Ordering::Relaxed);
        push
    }

    /// Returns whether messages were dropped since the last call.
    pub(crate) fn take_overflow(&self) -> bool {
        self.has_overflowed.swap(false, Ordering::Relaxed)
    }

    fn handler(&self) -> PushHandler {
        let sender = self.sender.clone();
        let queued_bytes = Arc::clone(&self.queued_bytes);
        let has_overflowed = Arc::clone(&self.has_overflowed);
        Box::new(move |push| {
            let Some(message) = parse(push) else {
                return;
            };
            let bytes = size(&message);
            let queued = queued_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            // The end of a subscription has no bytes: it is always queued if there is room.
            let is_too_much = bytes > 0 && queued > CAPACITY_BYTES;
            if is_too_much || sender.try_send(message).is_err() {
                queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                has_overflowed.store(true, Ordering::Relaxed);
            }
        })
    }
}

fn parse(push: PushInfo) -> Option<Push> {
    match push.kind {
        PushKind::Message | PushKind::SMessage => {
            let mut data = push.data.into_iter().map(bytes);
            Some(Some((data.next()??, data.next()??)))
        }
        PushKind::Disconnection | PushKind::SUnsubscribe | PushKind::Unsubscribe => Some(None),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> PushInfo {
        PushInfo {
            kind: PushKind::SMessage,
            data: vec![
                Value::BulkString(b"channel".to_vec()),
                Value::BulkString(vec![b'x'; bytes]),
            ],
        }
    }

    #[tokio::test]
    async fn messages_beyond_the_queued_bytes_are_dropped_and_reported() {
        let mut pushes = PushReceiver::new();
        let handler = pushes.handler();
        let large = CAPACITY_BYTES / 3;
        for _ in 0..3 {
            handler(message(large));
        }
        assert!(
            pushes.take_overflow(),
            "three and their channels are too much"
        );
        for _ in 0..2 {
            let (_, bytes) = pushes.next().await.expect("a message");
            assert_eq!(bytes.len(), large);
        }
        handler(message(large));
        assert!(!pushes.take_overflow(), "there is room again");
        assert!(pushes.next().await.is_some());
        handler(PushInfo {
            kind: PushKind::Disconnection,
            data: Vec::new(),
        });
        assert!(pushes.next().await.is_none());
    }
}
