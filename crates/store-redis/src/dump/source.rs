//! Reads the keys of a queue with plain commands.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use redis::{Cmd, Value};
use windlass_core::Result;
use windlass_redis_link::Link;

use crate::codec::{damaged, text, value};
use crate::keys::{Key, Keys};

/// Payloads read at once. The largest has a mebibyte.
const PAYLOADS: usize = 25;

#[async_trait]
pub(crate) trait Ask: Sync {
    async fn ask(&self, key: &[u8], cmd: &Cmd) -> Result<Value>;
}

#[async_trait]
impl Ask for Link {
    async fn ask(&self, key: &[u8], cmd: &Cmd) -> Result<Value> {
        Link::ask(self, key, cmd).await
    }
}

/// Reads keys of one queue.
pub(super) struct Source<'a, A> {
    pub(super) ask: &'a A,
    pub(super) keys: &'a Keys,
}

pub(super) type Hash = BTreeMap<Bytes, Bytes>;
pub(super) type Sorted = Vec<(Bytes, f64)>;

impl<A: Ask> Source<'_, A> {
    /// A hash without its anchor field.
    pub(super) async fn hash(&self, name: &str) -> Result<Hash> {
        let key = self.keys.one(name);
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(&key[..]);
        let pairs = value::pairs(self.ask.ask(&key, &cmd).await?)?;
        let is_not_anchor = |pair: &(Bytes, Bytes)| !pair.0.is_empty();
        Ok(pairs.into_iter().filter(is_not_anchor).collect())
    }

    /// The hash of all payloads, in pages that fit into a reply.
    pub(super) async fn payloads(&self) -> Result<Hash> {
        let key = self.keys.one("jobs");
        let mut cmd = redis::cmd("HKEYS");
        cmd.arg(&key[..]);
        let mut ids = value::items(self.ask.ask(&key, &cmd).await?)?;
        ids.retain(|id| !id.is_empty());
        let mut payloads = Hash::new();
        for page in ids.chunks(PAYLOADS) {
            let mut cmd = redis::cmd("HMGET");
            cmd.arg(&key[..]);
            for id in page {
                cmd.arg(&id[..]);
            }
            let values = value::items(self.ask.ask(&key, &cmd).await?)?;
            payloads.extend(page.iter().cloned().zip(values));
        }
        Ok(payloads)
    }

    pub(super) async fn sorted(&self, name: &str) -> Result<Sorted> {
        let key = self.keys.one(name);
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&key[..]).arg(0).arg(-1).arg("WITHSCORES");
        value::scored(self.ask.ask(&key, &cmd).await?)
    }

    /// The entries of every ready list, by priority.
    pub(super) async fn lists(&self) -> Result<Vec<Vec<Bytes>>> {
        let key = Key::named("ready").ok_or_else(|| damaged("ready list", "missing key"))?;
        let mut lists = Vec::new();
        for key in self.keys.declared(&[key]) {
            lists.push(self.items(&key).await?);
        }
        Ok(lists)
    }

    pub(super) async fn list(&self, name: &str) -> Result<Vec<Bytes>> {
        self.items(&self.keys.one(name)).await
    }

    async fn items(&self, key: &[u8]) -> Result<Vec<Bytes>> {
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(key).arg(0).arg(-1);
        value::items(self.ask.ask(key, &cmd).await?)
    }
}

/// A number in `state`; 0 if it is missing.
pub(super) fn number_in(state: &Hash, field: &str) -> Result<u64> {
    let number = state.get(field.as_bytes());
    let number = number.map_or(Ok("0"), |number| text(field, number))?;
    number.parse().map_err(|_| damaged(field, "not a number"))
}
