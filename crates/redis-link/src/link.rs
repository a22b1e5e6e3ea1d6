//! The client side of Redis: sends each call, with a deadline, to the primary responsible for it and
//! reports whether it was done, rejected, or may have been done.
//!
//! # Modules
//!
//! - Servers: [`dial`] opens a stream (with [`tls`]), [`stream`] records its [`progress`], [`wire`] writes each
//!   [`request`] to it and reads replies ([`reply_reader`], with a [`reply_limit`]), [`conn`] is one
//!   connection, [`node`] one server with its connections. [`topology`]
//!   finds the primary: one server, [`sentinel`] (with [`sentinel_events`]) or [`cluster`];
//!   [`single_flight`] lets concurrent callers share one lookup.
//! - Calls: [`call`] is a script call, [`slot`] computes its hash slot, [`retry`] retries it with
//!   [`backoff`], [`durability`] waits for replicas or disk, [`blocking_pop`] blocks on a list.
//! - Pub/sub: [`subscriber`] receives messages through [`push`].
//! - Operations: [`check`] validates servers, [`server_info`] describes them, [`delete_keys`]
//!   deletes a store.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::store::DurabilityLevel;
use windlass_core::{Error, Result};

use crate::address::LinkAddress;
use crate::error::{self, CallError};

mod backoff;
mod blocking_pop;
mod call;
mod check;
mod cluster;
mod conn;
mod delete_keys;
mod dial;
mod durability;
mod node;
mod progress;
mod push;
mod reply_limit;
mod reply_reader;
mod request;
mod retry;
mod sentinel;
mod sentinel_events;
mod server_info;
mod single_flight;
mod slot;
mod stream;
mod subscriber;
mod tls;
mod topology;
mod wire;

pub use blocking_pop::WaitOn;
pub use call::Call;
pub use progress::LinkProgress;
pub use push::ChannelKind;
pub use retry::Resend;
pub use server_info::ServerInfo;
pub(crate) use slot::slot_of;
pub use subscriber::{Subscriber, SubscriberEvent};

use check::Health;
use durability::Confirmation;
use request::BySource;
use retry::{CallRetry, Route};
use topology::Topology;

/// A boxed future: keeps rarely used paths from enlarging the future of every call.
type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The client of a store's servers. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Link {
    inner: Arc<Inner>,
}

struct Inner {
    address: LinkAddress,
    topology: Topology,
    health: Health,
    mode: LinkMode,
}

/// What the link is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkMode {
    /// A Windlass store: the eviction policy is checked.
    Store,
    /// Another system's data: its eviction policy is its owner's choice.
    Raw,
}

impl LinkMode {
    /// The largest reply, with the memory that its structure takes.
    fn reply_bytes_max(self) -> u64 {
        const MIB: u64 = 1024 * 1024;
        match self {
            // Twice a page of 500 jobs with the largest headers, error and progress; a claim is smaller.
            Self::Store => 32 * MIB,
            // The largest value that Redis stores: other systems have no limits of their own.
            Self::Raw => 512 * MIB,
        }
    }
}

impl Link {
    /// Connects and rejects servers that cannot safely hold jobs.
    pub async fn open(address: &LinkAddress, mode: LinkMode) -> Result<Self> {
        let inner = Arc::new(Inner {
            address: address.clone(),
            topology: Topology::new(address, mode)?,
            health: Health::default(),
            mode,
        });
        check::check_at_open(&inner).await?;
        inner.health.watch(&inner);
        Ok(Self { inner })
    }

    /// Runs a script once. If no reply arrives, the error is `OutcomeUnknown`.
    pub async fn run(&self, call: &Call) -> Result<Value> {
        self.run_with_retries(call, Resend::Never).await
    }

    /// Runs a script and resends it until a reply arrives or the call times out. Only for
    /// idempotent calls.
    pub async fn run_idempotent(&self, call: &Call) -> Result<Value> {
        self.run_with_retries(call, Resend::Safe).await
    }

    /// Sends an idempotent command to the server that owns `key`, with the retries of
    /// [`Link::run_idempotent`].
    pub async fn ask(&self, key: &[u8], cmd: &Cmd) -> Result<Value> {
        let mut retry = self.retry(slot_of(key), Resend::Safe);
        loop {
            let route = retry.route().await?;
            match route.send(cmd, retry.deadline()).await {
                Ok(value) => return Ok(value),
                Err(error) => retry.wait_after(error).await?,
            }
        }
    }

    /// Runs scripts of one slot like [`Link::run_idempotent`], sent together. Then waits once for the durability
    /// the URL requests. Returns the replies up to the first that is not a list, as far as there are any,
    /// and the level reached before the timeout.
    pub async fn run_durable(&self, calls: &[Call]) -> (Vec<Value>, Result<DurabilityLevel>) {
        let confirmation = match self.inner.address.durability {
            DurabilityLevel::Synced if self.inner.health.is_always_synced() => {
                Some(Confirmation::AlwaysSynced)
            }
            DurabilityLevel::Synced => Some(Confirmation::LocalSync),
            DurabilityLevel::Replicated(count) => Some(Confirmation::Replicas(count)),
            _ => None,
        };
        match (calls, confirmation) {
            ([call], None) => match self.run_idempotent(call).await {
                Ok(reply) => (vec![reply], Ok(DurabilityLevel::Memory)),
                Err(error) => (Vec::new(), Err(error)),
            },
            _ => {
                Box::pin(durability::run(
                    &self.inner,
                    calls,
                    confirmation,
                    Resend::Safe,
                ))
                .await
            }
        }
    }

    /// Runs a script that claims or ends jobs. With `replicated:N` it waits for the replicas; the second
    /// value is the error to return instead of the reply if too few of them confirm.
    pub async fn run_confirmed(
        &self,
        call: &Call,
        resend: Resend,
    ) -> Result<(Value, Option<Error>)> {
        let Some(count) = self.replicas() else {
            return Ok((self.run_with_retries(call, resend).await?, None));
        };
        let calls = std::slice::from_ref(call);
        let confirmation = Some(Confirmation::Replicas(count));
        let (mut replies, level) = durability::run(&self.inner, calls, confirmation, resend).await;
        let unconfirmed = unconfirmed(level?, count);
        Ok((replies.pop().unwrap_or(Value::Nil), unconfirmed))
    }

    /// How many replicas must confirm a claim or an outcome.
    fn replicas(&self) -> Option<u32> {
        match self.inner.address.durability {
            DurabilityLevel::Replicated(count) if self.inner.mode == LinkMode::Store => Some(count),
            // With `synced`, `appendfsync always` syncs before each reply; to wait for the next sync of
            // `everysec` would take a claim up to a second.
            _ => None,
        }
    }

    /// Blocks until the list has an element or `wait` elapses, then runs a script like
    /// [`Link::run_confirmed`]. If the future is dropped, the script may still run.
    pub async fn wait_then_run(
        &self,
        on: WaitOn<'_>,
        wait: Duration,
        then: &Call,
    ) -> Result<(Value, Option<Error>)> {
        let replicas = self.replicas();
        let confirmation = replicas.map(Confirmation::Replicas);
        let (reply, level) =
            blocking_pop::wait_then_run(&self.inner, on, wait, then, confirmation).await?;
        Ok((reply, replicas.and_then(|count| unconfirmed(level, count))))
    }

    /// Blocks until one of the lists has an element or `wait` elapses, pops it and returns which list
    /// it was. If the future is dropped, an element may still be popped.
    pub async fn pop(&self, lists: &[Bytes], wait: Duration) -> Result<Option<usize>> {
        blocking_pop::pop(&self.inner, lists, wait).await
    }

    /// Subscribes to channels. Messages published after this returns are received.
    pub async fn subscribe(&self, kind: ChannelKind, channels: Vec<Bytes>) -> Result<Subscriber> {
        Subscriber::open(&self.inner, kind, channels).await
    }

    /// Describes every primary.
    pub async fn info(&self) -> Result<Vec<ServerInfo>> {
        server_info::all(&self.inner).await
    }

    /// Deletes every key that matches the pattern and returns their number.
    pub async fn delete_keys(&self, pattern: &str) -> Result<u64> {
        delete_keys::delete(&self.inner, pattern).await
    }

    /// Returns the error found by the latest periodic check of the servers.
    pub fn health(&self) -> Option<Error> {
        self.inner.health.error()
    }

    /// Returns the progress of all connections.
    pub fn progress(&self) -> Arc<LinkProgress> {
        Arc::clone(&self.inner.topology.progress)
    }

    /// The address of the servers.
    pub fn address(&self) -> &LinkAddress {
        &self.inner.address
    }

    async fn run_with_retries(&self, call: &Call, resend: Resend) -> Result<Value> {
        let mut retry = self.retry(slot_of_call(call), resend);
        loop {
            let route = retry.route().await?;
            match run_script(&route, call, &retry).await {
                Ok(value) => return Ok(value),
                Err(error) => retry.wait_after(error).await?,
            }
        }
    }

    fn retry(&self, slot: u16, resend: Resend) -> CallRetry<'_> {
        CallRetry::new(&self.inner, slot, self.inner.address.timeout, resend)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.inner.address)
    }
}

/// Runs a script by its SHA. After NOSCRIPT it sends the source with EVAL, so that a concurrent
/// SCRIPT FLUSH cannot interfere.
async fn run_script(route: &Route, call: &Call, retry: &CallRetry<'_>) -> Result<Value, CallError> {
    match route.send(call, retry.deadline()).await {
        Err(error) if error.is_no_script => {
            let (by_source, deadline) = (BySource(call), retry.deadline_by_source());
            let sent: BoxFuture<'_, _> = Box::pin(route.send(&by_source, deadline));
            sent.await
        }
        reply => reply,
    }
}

/// The error of a call for which this level is less than the requested number of replicas.
fn unconfirmed(reached: DurabilityLevel, requested: u32) -> Option<Error> {
    let confirmed = match reached {
        DurabilityLevel::Replicated(count) => count,
        _ => 0,
    };
    (confirmed < requested).then(|| error::unconfirmed(confirmed, requested))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No critical section leaves the data half-updated, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn slot_of_call(call: &Call) -> u16 {
    call.keys.first().map_or(0, |key: &Bytes| slot_of(key))
}

#[cfg(test)]
mod tests;
