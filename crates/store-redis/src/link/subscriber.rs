//! Listening to channels: wherever their slots are, through losses, with a word about each gap.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::Result;

use super::backoff;
use super::conn::Conn;
use super::node::Node;
use super::push::{Channels, Ear, Pushed};
use super::retry::{Repeat, Tries};
use super::{Inner, slot_of};
use crate::error::Fault;

/// How often a silent connection is asked whether it is still there.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// The longest pause between two tries to subscribe again.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Somebody published something.
    Message {
        /// Where.
        channel: Bytes,
        /// What.
        bytes: Bytes,
    },
    /// Something may have been missed; what comes from now on is heard again.
    Gap,
}

/// Listens to channels.
pub struct Listener {
    inner: Arc<Inner>,
    kind: Channels,
    channels: Vec<Bytes>,
    changes: watch::Receiver<u64>,
    current: Option<Subscribed>,
    failures: u32,
}

struct Subscribed {
    ear: Ear,
    conns: Vec<Conn>,
    /// When the connections last gave a sign of life.
    alive_at: Instant,
}

impl Listener {
    pub(super) async fn open(
        inner: &Arc<Inner>,
        kind: Channels,
        channels: Vec<Bytes>,
    ) -> Result<Self> {
        let mut listener = Self {
            inner: Arc::clone(inner),
            changes: inner.topology.changes(),
            kind,
            channels,
            current: None,
            failures: 0,
        };
        let mut tries = Tries::new(inner, 0, inner.address.timeout, Repeat::Safe);
        loop {
            match listener.subscribe(tries.limit()).await {
                Ok(()) => return Ok(listener),
                Err(fault) => tries.after(fault).await?,
            }
        }
    }

    /// What is heard next. It may be given up and asked again: nothing is lost.
    pub async fn next(&mut self) -> Heard {
        loop {
            let Some(current) = &mut self.current else {
                sleep(backoff::jittered(self.failures, LONGEST_PAUSE)).await;
                let until = Instant::now() + self.inner.address.timeout;
                match self.subscribe(until).await {
                    Ok(()) => return Heard::Gap,
                    Err(_) => self.failures = self.failures.saturating_add(1),
                }
                continue;
            };
            if current.ear.was_overrun() {
                return Heard::Gap;
            }
            tokio::select! {
                biased;
                pushed = current.ear.next() => match pushed {
                    Pushed::Message { channel, bytes } => return Heard::Message { channel, bytes },
                    Pushed::Ended => self.current = None,
                },
                _ = self.changes.changed() => self.current = None,
                // Counted from the last sign of life: a caller may give this up all the time.
                () = sleep_until(current.alive_at + ASK_EVERY) => {
                    if current.is_there(self.inner.address.timeout).await {
                        current.alive_at = Instant::now();
                    } else {
                        self.current = None;
                    }
                }
            }
        }
    }

    async fn subscribe(&mut self, until: Instant) -> Result<(), Fault> {
        self.changes.mark_unchanged();
        let ear = Ear::new();
        let mut conns = Vec::new();
        for (node, channels) in self.places(until).await? {
            let conn = ear.subscribe(&node, self.kind, &channels, until).await;
            conns.push(conn.inspect_err(|fault| self.inner.topology.heard(&node, fault))?);
        }
        self.current = Some(Subscribed {
            ear,
            conns,
            alive_at: Instant::now(),
        });
        self.failures = 0;
        Ok(())
    }

    /// The channels by the server that has them.
    async fn places(&self, until: Instant) -> Result<Vec<(Arc<Node>, Vec<Bytes>)>, Fault> {
        let mut places: Vec<(Arc<Node>, Vec<Bytes>)> = Vec::new();
        for channel in &self.channels {
            let node = self.inner.topology.node(slot_of(channel), until).await?;
            match places
                .iter_mut()
                .find(|(known, _)| Arc::ptr_eq(known, &node))
            {
                Some((_, channels)) => channels.push(channel.clone()),
                None => places.push((node, vec![channel.clone()])),
            }
        }
        Ok(places)
    }
}

impl Subscribed {
    /// Whether every connection still answers; a dead line is silent like a quiet one.
    async fn is_there(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        for conn in &self.conns {
            if conn.call(&redis::cmd("PING"), until).await.is_err() {
                return false;
            }
        }
        true
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("channels", &self.channels.len())
            .finish_non_exhaustive()
    }
}
