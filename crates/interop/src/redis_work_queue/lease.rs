//! Leases items, and renews, releases and completes them.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use tokio::time::Instant;
use windlass_core::{Error, ErrorKind, Result};
use windlass_redis_link::raw_client::RawScript;

use super::{Item, WorkQueue, script};
use crate::reply::{bytes, list, text};

static LEASE: LazyLock<RawScript> = script!("lease.lua");
static RENEW: LazyLock<RawScript> = script!("renew.lua");
static RELEASE: LazyLock<RawScript> = script!("release.lua");
static COMPLETE: LazyLock<RawScript> = script!("complete.lua");

/// Maximum time of one blocking call. Longer waits are split, so that no connection is idle long
/// enough for a firewall to drop it.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Well below the longest expiry that Redis supports.
const LEASE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Help if no reply arrived: a repeated call leases another item.
const LEASE_AGAIN: &str = "lease again; if this call leased an item, a clean returns it once its \
    lease has expired: `windlass interop redis-work-queue clean`";

/// Reply of the lease script.
enum LeaseReply {
    Item(Item),
    Nothing,
    /// Only skipped ids so far; there may be items behind them.
    OnlySkipped,
}

impl WorkQueue {
    /// Leases the next item, waiting up to `wait`, or forever if `None`. Both durations may be
    /// fractions of a second.
    ///
    /// Drops ids without data and skips items that have a lease. If the reply is lost, an item may be
    /// leased without the caller knowing; a clean returns it once the lease has expired.
    pub async fn lease(&self, lease: Duration, wait: Option<Duration>) -> Result<Option<Item>> {
        let leased = self.lease_or_wait(lease, wait).await;
        leased.map_err(|error| {
            if error.is_unknown() {
                error.with_help(LEASE_AGAIN)
            } else {
                error
            }
        })
    }

    async fn lease_or_wait(&self, lease: Duration, wait: Option<Duration>) -> Result<Option<Item>> {
        let args = vec![millis(lease)?, Bytes::from(self.session.clone())];
        let until = wait.map(|wait| Instant::now() + wait);
        loop {
            match parse_lease(self.run(&LEASE, args.clone()).await?)? {
                LeaseReply::Item(item) => return Ok(Some(item)),
                LeaseReply::OnlySkipped => continue,
                LeaseReply::Nothing => {}
            }
            let left = until.map_or(WAIT_MAX, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(None);
            }
            let wait = left.min(WAIT_MAX);
            let (keys, args) = self.keys.call(args.clone());
            let client = &self.server.client;
            let reply = client.wait_then_run(&self.keys.queue, wait, &LEASE, keys, args);
            if let LeaseReply::Item(item) = parse_lease(reply.await?)? {
                return Ok(Some(item));
            }
        }
    }

    /// Extends a lease of this session to `lease` from now. Returns whether the session still held it.
    pub async fn renew(&self, id: &str, lease: Duration) -> Result<bool> {
        let args = vec![
            Bytes::from(id.to_owned()),
            millis(lease)?,
            Bytes::from(self.session.clone()),
        ];
        let reply = self.run_repeating(&RENEW, args).await?;
        Ok(text(reply)? == "renewed")
    }

    /// Returns an item leased by this session to the front of the queue, because it was not tried.
    /// Returns whether the session still held the lease.
    pub async fn release(&self, id: &str) -> Result<bool> {
        let args = vec![
            Bytes::from(id.to_owned()),
            Bytes::from(self.session.clone()),
        ];
        let reply = self.run(&RELEASE, args).await?;
        Ok(text(reply)? == "released")
    }

    /// Completes an item, with or without a lease. Returns `true` to exactly one of the calls for the
    /// same item.
    pub async fn complete(&self, id: &str) -> Result<bool> {
        let args = vec![Bytes::from(id.to_owned())];
        let reply = self.run(&COMPLETE, args).await?;
        Ok(text(reply)? == "completed")
    }
}

fn parse_lease(reply: Value) -> Result<LeaseReply> {
    let mut parts = list(reply)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    Ok(match text(next())?.as_str() {
        "leased" => {
            let (id, data) = (bytes(next())?, bytes(next())?);
            LeaseReply::Item(Item::with_id(utf8_id(&id)?, data))
        }
        "more" => LeaseReply::OnlySkipped,
        _ => LeaseReply::Nothing,
    })
}

/// Parses an id, which has to be UTF-8 for the original clients as well.
fn utf8_id(id: &[u8]) -> Result<&str> {
    std::str::from_utf8(id).map_err(|error| {
        let shown = String::from_utf8_lossy(id);
        Error::new(
            ErrorKind::StoreDamaged,
            format!("leased item {shown:?} has an id that is not UTF-8"),
            "delete its data and remove its id from the lists: no client can complete it",
        )
        .caused_by(error)
    })
}

/// Converts a lease to whole milliseconds.
fn millis(lease: Duration) -> Result<Bytes> {
    let millis = lease.as_millis();
    if millis == 0 || lease > LEASE_MAX {
        return Err(Error::invalid(
            "lease",
            format!("{lease:?} is out of range"),
            "use 1ms to 100 years, for example 30s",
        ));
    }
    Ok(Bytes::from(millis.to_string()))
}
