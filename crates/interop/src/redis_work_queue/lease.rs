//! Leasing items, and what becomes of a lease.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use tokio::time::Instant;
use windlass_core::{Error, ErrorKind, Result};
use windlass_store_redis::guest::GuestScript;

use super::{Item, WorkQueue, script};
use crate::reply::{bytes, list, text};

static LEASE: LazyLock<GuestScript> = script!("lease.lua");
static RENEW: LazyLock<GuestScript> = script!("renew.lua");
static RELEASE: LazyLock<GuestScript> = script!("release.lua");
static COMPLETE: LazyLock<GuestScript> = script!("complete.lua");

/// How long one wait lasts at a server: whoever waits longer asks again, so that no line is silent
/// for so long that a firewall forgets it.
const WAIT_AT_ONCE: Duration = Duration::from_secs(30);

/// Beyond this Redis cannot count.
const LEASE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What the script found.
enum Found {
    Item(Item),
    Nothing,
    /// Many ids that are no items; there may be more.
    OnlyGhosts,
}

impl WorkQueue {
    /// Leases the next item for so long; waits for one up to `wait`, or for ever with `None`. Both
    /// may be fractions of a second.
    ///
    /// An id without data is dropped on the way, and an item that somebody holds a lease of is
    /// passed over. When no answer comes, an item may be leased that nobody knows of: it comes back
    /// when the lease is over, by a clean.
    pub async fn lease(&self, lease: Duration, wait: Option<Duration>) -> Result<Option<Item>> {
        let args = vec![millis(lease)?, Bytes::from(self.session.clone())];
        let until = wait.map(|wait| Instant::now() + wait);
        loop {
            match found(self.run(&LEASE, args.clone()).await?)? {
                Found::Item(item) => return Ok(Some(item)),
                Found::OnlyGhosts => continue,
                Found::Nothing => {}
            }
            let left = until.map_or(WAIT_AT_ONCE, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(None);
            }
            let wait = left.min(WAIT_AT_ONCE);
            let (keys, args) = self.keys.call(args.clone());
            let guest = &self.server.guest;
            let reply = guest.wait_then_run(&self.keys.queue, wait, &LEASE, keys, args);
            if let Found::Item(item) = found(reply.await?)? {
                return Ok(Some(item));
            }
        }
    }

    /// Moves the end of a lease that this session holds: so long from now. Whether it still held it.
    pub async fn renew(&self, id: &str, lease: Duration) -> Result<bool> {
        let args = vec![
            Bytes::from(id.to_owned()),
            millis(lease)?,
            Bytes::from(self.session.clone()),
        ];
        let reply = self.run_repeating(&RENEW, args).await?;
        Ok(text(reply)? == "renewed")
    }

    /// Gives an item back that this session holds a lease of, to the front of the queue: it was not
    /// tried, so it is next. Whether it still held it.
    pub async fn release(&self, id: &str) -> Result<bool> {
        let args = vec![
            Bytes::from(id.to_owned()),
            Bytes::from(self.session.clone()),
        ];
        let reply = self.run(&RELEASE, args).await?;
        Ok(text(reply)? == "released")
    }

    /// Ends an item, with or without a lease of it. Whether this call ended it: of all that are
    /// made for one item, one is told so.
    pub async fn complete(&self, id: &str) -> Result<bool> {
        let args = vec![Bytes::from(id.to_owned())];
        let reply = self.run(&COMPLETE, args).await?;
        Ok(text(reply)? == "completed")
    }
}

fn found(reply: Value) -> Result<Found> {
    let mut parts = list(reply)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok(match text(next())?.as_str() {
        "leased" => {
            let (id, data) = (bytes(next())?, bytes(next())?);
            Found::Item(Item::with_id(plain(&id)?, data))
        }
        "more" => Found::OnlyGhosts,
        _ => Found::Nothing,
    })
}

/// An id as all clients have it: the originals refuse any other as well.
fn plain(id: &[u8]) -> Result<&str> {
    std::str::from_utf8(id).map_err(|error| {
        let shown = String::from_utf8_lossy(id);
        Error::new(
            ErrorKind::StoreDamaged,
            format!("the item {shown:?} was leased, and its id is not UTF-8"),
            "remove it from the lists and its data: no client can complete it",
        )
        .caused_by(error)
    })
}

/// A lease in whole milliseconds.
fn millis(lease: Duration) -> Result<Bytes> {
    let millis = lease.as_millis();
    if millis == 0 || lease > LEASE_MAX {
        return Err(Error::invalid(
            "lease",
            format!("it is {lease:?}"),
            "ask for 1ms or more, for example 30s",
        ));
    }
    Ok(Bytes::from(millis.to_string()))
}
