//! A subscriber to channels on any number of servers. It resubscribes after a lost connection and
//! reports the gap.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::Result;

use super::backoff;
use super::conn::Conn;
use super::node::Node;
use super::push::{ChannelKind, PushReceiver};
use super::retry::{CallRetry, Resend};
use super::{Inner, slot_of};
use crate::error::CallError;

/// An idle connection is pinged this often.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Longest delay between two attempts to resubscribe.
const MAX_BACKOFF: Duration = Duration::from_secs(2);

/// What a [`Subscriber`] receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubscriberEvent {
    /// A published message.
    Message {
        /// The channel.
        channel: Bytes,
        /// The payload.
        bytes: Bytes,
    },
    /// Messages may have been lost; later ones are received again.
    Gap,
}

/// Receives the messages published to some channels.
pub struct Subscriber {
    inner: Arc<Inner>,
    kind: ChannelKind,
    channels: Vec<Bytes>,
    changes: watch::Receiver<u64>,
    current: Option<Subscription>,
    failures: u32,
}

struct Subscription {
    pushes: PushReceiver,
    conns: Vec<Conn>,
    /// When the connections last replied.
    alive_at: Instant,
}

impl Subscriber {
    pub(super) async fn open(
        inner: &Arc<Inner>,
        kind: ChannelKind,
        channels: Vec<Bytes>,
    ) -> Result<Self> {
        let mut subscriber = Self {
            inner: Arc::clone(inner),
            changes: inner.topology.changes(),
            kind,
            channels,
            current: None,
            failures: 0,
        };
        let mut retry = CallRetry::new(inner, 0, inner.address.timeout, Resend::Safe);
        loop {
            match subscriber.subscribe(retry.deadline()).await {
                Ok(()) => return Ok(subscriber),
                Err(error) => retry.wait_after(error).await?,
            }
        }
    }

    /// Waits for the next event. Cancel safe: no message is lost if the future is dropped.
    pub async fn next(&mut self) -> SubscriberEvent {
        loop {
            let Some(current) = &mut self.current else {
                sleep(backoff::jittered(self.failures, MAX_BACKOFF)).await;
                let until = Instant::now() + self.inner.address.timeout;
                match self.subscribe(until).await {
                    Ok(()) => return SubscriberEvent::Gap,
                    Err(_) => self.failures = self.failures.saturating_add(1),
                }
                continue;
            };
            if current.pushes.take_overflow() {
                return SubscriberEvent::Gap;
            }
            tokio::select! {
                biased;
                push = current.pushes.next() => match push {
                    Some((channel, bytes)) => return SubscriberEvent::Message { channel, bytes },
                    None => self.current = None,
                },
                _ = self.changes.changed() => self.current = None,
                // Measured from the last reply, because callers may cancel and call again often.
                () = sleep_until(current.alive_at + PING_INTERVAL) => {
                if current.is_alive(self.inner.address.timeout).await {
                        current.alive_at = Instant::now();
                    } else {
                        self.current = None;
                    }
                }
            }
        }
    }

    async fn subscribe(&mut self, until: Instant) -> Result<(), CallError> {
        self.changes.mark_unchanged();
        let pushes = PushReceiver::new();
        let mut conns = Vec::new();
        for (node, channels) in self.channels_by_node(until).await? {
            let conn = pushes.subscribe(&node, self.kind, &channels, until).await;
            conns.push(conn.inspect_err(|error| self.inner.topology.record_error(&node, error))?);
        }
        self.current = Some(Subscription {
            pushes,
            conns,
            alive_at: Instant::now(),
        });
        self.failures = 0;
        Ok(())
    }

    /// Groups the channels by the server that owns their slots.
    async fn channels_by_node(
        &self,
        until: Instant,
    ) -> Result<Vec<(Arc<Node>, Vec<Bytes>)>, CallError> {
        let mut groups: Vec<(Arc<Node>, Vec<Bytes>)> = Vec::new();
        for channel in &self.channels {
            let node = self.inner.topology.node(slot_of(channel), until).await?;
            match groups
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &node))
            {
                Some((_, channels)) => channels.push(channel.clone()),
                None => groups.push((node, vec![channel.clone()])),
            }
        }
        Ok(groups)
    }
}

impl Subscription {
    /// Pings every connection, because a dead one looks like an idle one.
    async fn is_alive(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        for conn in &self.conns {
            if conn.call(&redis::cmd("PING"), until).await.is_err() {
                return false;
            }
        }
        true
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber")
            .field("channels", &self.channels.len())
            .finish_non_exhaustive()
    }
}
