//! The link to Redis: every call with a deadline, sent to the server in charge, and told truly
//! whether it was done, refused, or may have been done.
//!
//! # Map
//!
//! [`conn`] is one connection, [`node`] one server with its connections, [`topology`] says which
//! server is in charge: [`single`], [`sentinel`] (which hears of a [`sentinel_events`]) or [`cluster`]; what
//! they find out, one finds out for all in [`single_flight`]. [`retry`] is what one call goes through
//! when servers fail, with [`backoff`] between. [`call`] is a call of a script, [`slot`] where its
//! keys live. [`durability`] makes a call wait until it is safe, [`blocking_pop`] waits for a marker, [`subscriber`]
//! hears channels through [`push`]. [`check`] looks whether servers are fit for jobs, [`server_info`]
//! says what they tell of themselves, [`delete_keys`] removes a whole store.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::{DurabilityLevel, Error, Result};

use crate::address::{Address, Durability};
use crate::error::Fault;

mod backoff;
mod blocking_pop;
mod call;
mod check;
mod cluster;
mod conn;
mod delete_keys;
mod durability;
mod node;
mod push;
mod retry;
mod sentinel;
mod sentinel_events;
mod server_info;
mod single;
mod single_flight;
mod slot;
mod subscriber;
mod topology;

pub(crate) use blocking_pop::Awaited;
pub(crate) use call::Call;
pub(crate) use push::Channels;
pub use server_info::ServerFacts;
pub(crate) use slot::slot_of;
pub use subscriber::{Heard, Listener};

use check::{Fitness, Syncing};
use durability::Cover;
use retry::{Repeat, Route, Tries};
use topology::Topology;

/// A future on the heap: what is seldom done does not make every call's future large.
type Seldom<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The link to a store's servers; clones share it.
#[derive(Clone)]
pub(crate) struct Link {
    inner: Arc<Inner>,
}

/// What clones of a link share.
struct Inner {
    address: Address,
    topology: Topology,
    fitness: Fitness,
    standing: Standing,
}

/// Whose jobs the servers hold for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Our own: the servers have to be fit for them.
    Host,
    /// Those of another system, which keeps them as it always did.
    Guest,
}

impl Link {
    /// Connects, and refuses servers that are not fit for jobs.
    pub(crate) async fn open(address: &Address, standing: Standing) -> Result<Self> {
        let inner = Arc::new(Inner {
            address: address.clone(),
            topology: Topology::new(address)?,
            fitness: Fitness::default(),
            standing,
        });
        check::at_start(&inner).await?;
        inner.fitness.watch(&inner);
        Ok(Self { inner })
    }

    /// Runs a script. No answer is an unknown outcome.
    pub(crate) async fn run(&self, call: &Call) -> Result<Value> {
        self.carry_out(call, Repeat::Never).await
    }

    /// Runs a script, again and again until an answer comes or the time is over: only for calls
    /// that change nothing when they are repeated.
    pub(crate) async fn run_repeating(&self, call: &Call) -> Result<Value> {
        self.carry_out(call, Repeat::Safe).await
    }

    /// Sends a plain command to the server that holds `key`; it is repeated like
    /// [`Link::run_repeating`].
    pub(crate) async fn ask(&self, key: &[u8], cmd: &Cmd) -> Result<Value> {
        let mut tries = self.tries(slot_of(key), Repeat::Safe);
        loop {
            let fault = match tries.route().await {
                Ok(route) => match route.send(cmd, tries.limit()).await {
                    Ok(value) => return Ok(value),
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            tries.after(fault).await?;
        }
    }

    /// Runs a script like [`Link::run_repeating`] and tells how safe its writes are by then: as safe
    /// as the address asks, where that could be reached in time.
    pub(crate) async fn run_covered(&self, call: &Call) -> Result<(Value, DurabilityLevel)> {
        let cover = match self.inner.address.durability {
            Durability::Memory => {
                let value = self.run_repeating(call).await?;
                return Ok((value, DurabilityLevel::Memory));
            }
            Durability::Synced if self.inner.fitness.syncing() == Syncing::Always => Cover::Always,
            Durability::Synced => Cover::Disk,
            Durability::Replicated(count) => Cover::Replicas(count),
        };
        durability::run(&self.inner, call, cover).await
    }

    /// Waits until there is what is awaited, or `wait` is over, then runs a script and tells its
    /// answer. The future may be dropped at any time; the script may then still run.
    pub(crate) async fn park(
        &self,
        awaited: Awaited<'_>,
        wait: Duration,
        then: &Call,
    ) -> Result<Value> {
        blocking_pop::park(&self.inner, awaited, wait, then).await
    }

    /// Listens to channels; what is published after this has answered is heard.
    pub(crate) async fn listen(&self, kind: Channels, channels: Vec<Bytes>) -> Result<Listener> {
        Listener::open(&self.inner, kind, channels).await
    }

    /// What the servers say of themselves.
    pub(crate) async fn facts(&self) -> Result<Vec<ServerFacts>> {
        server_info::all(&self.inner).await
    }

    /// Removes every key that the pattern fits, and tells how many that were.
    pub(crate) async fn remove(&self, pattern: &str) -> Result<u64> {
        delete_keys::remove(&self.inner, pattern).await
    }

    /// What is wrong with the servers since the link was opened, as far as is known.
    pub(crate) fn health(&self) -> Option<Error> {
        self.inner.fitness.trouble()
    }

    /// Where the link leads.
    pub(crate) fn address(&self) -> &Address {
        &self.inner.address
    }

    async fn carry_out(&self, call: &Call, repeat: Repeat) -> Result<Value> {
        let mut tries = self.tries(slot_of_call(call), repeat);
        let by_sha = call.by_sha();
        loop {
            let fault = match tries.route().await {
                Ok(route) => match run_script(&route, call, &by_sha, &tries).await {
                    Ok(value) => return Ok(value),
                    Err(fault) => fault,
                },
                Err(fault) => fault,
            };
            tries.after(fault).await?;
        }
    }

    fn tries(&self, slot: u16, repeat: Repeat) -> Tries<'_> {
        Tries::new(&self.inner, slot, self.inner.address.timeout, repeat)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.inner.address)
    }
}

/// A server that does not know the script is sent its text, which cannot be forgotten again
/// before it has run.
async fn run_script(
    route: &Route,
    call: &Call,
    by_sha: &Cmd,
    tries: &Tries<'_>,
) -> Result<Value, Fault> {
    let limit = tries.limit();
    match route.send(by_sha, limit).await {
        Err(fault) if fault.is_no_script => {
            let by_text = call.by_text();
            let sent: Seldom<'_, _> = Box::pin(route.send(&by_text, limit));
            sent.await
        }
        answer => answer,
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is whole between two statements, so a panic elsewhere leaves it whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn slot_of_call(call: &Call) -> u16 {
    call.keys.first().map_or(0, |key: &Bytes| slot_of(key))
}

#[cfg(test)]
mod tests;
