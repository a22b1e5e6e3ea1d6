//! The first page of an audit: checks the types of the keys and repairs what all other scripts need.

use windlass_core::store::{Repair, Setting};
use windlass_core::{Error, ErrorKind, Result};
use windlass_redis_link::reply::Reply;

use super::page::Page;
use super::repair;
use crate::codec::names::{EARLIER_FIELD, RULES_LOST, STATS_FIELD};
use crate::codec::stats::StatsRecord;
use crate::codec::value;
use crate::keys::{KeyType, Keys};
use crate::partition::Partition;
use crate::queue::Queue;

/// The result of the first page.
#[derive(Debug)]
pub(super) enum Start {
    /// The partition does not exist.
    Absent,
    /// It is readable, after these repairs.
    Valid(Vec<Repair>),
}

impl Queue {
    pub(super) async fn start_audit(&self, partition: &Partition) -> Result<Start> {
        partition.check_types().await?;
        let script = &partition.scripts().audit_begin;
        let mut page = Page::read(partition.run_list(script, Vec::new()).await?)?;
        if page.next == "absent" {
            return Ok(Start::Absent);
        }
        page.repairs.extend(partition.repair_settings().await?);
        if !page.rest.is_empty() {
            let are_rules_lost = page.rest.text()? == RULES_LOST;
            self.restore(partition, are_rules_lost).await?;
        }
        if partition.number == 0 && partition.add_to_list().await? {
            page.repairs
                .push(repair::repair("queue_not_listed", "", "")?);
        }
        Ok(Start::Valid(page.repairs))
    }

    /// Restores the number of partitions from the second one, and the rules from the settings.
    async fn restore(&self, partition: &Partition, are_rules_lost: bool) -> Result<()> {
        let settings = partition.settings().await?;
        if are_rules_lost {
            partition.set(&settings.all()).await?;
        }
        if partition.number == 0 {
            for count in partition.counts_in_second().await? {
                partition.partition(count, 0).await?;
                self.learn(count);
            }
            self.grow_to(&settings).await?;
        }
        Ok(())
    }
}

impl Partition {
    /// Fails if a key has the wrong type: the audit does not delete data of others.
    pub(super) async fn check_types(&self) -> Result<()> {
        let script = &self.scripts().audit_key_types;
        let mut found = Reply::list(self.run(script, Vec::new()).await?)?;
        let types = script
            .keys
            .iter()
            .flat_map(|key| vec![key.kind(); key.count()]);
        for (key, kind) in self.keys.declared(&script.keys).iter().zip(types) {
            let actual = found.text()?;
            if actual != "none" && actual != type_name(kind) {
                return Err(wrong_type(
                    &String::from_utf8_lossy(key),
                    &actual,
                    type_name(kind),
                ));
            }
        }
        Ok(())
    }

    /// Drops unreadable settings: with one of them, no setting can be read or changed.
    async fn repair_settings(&self) -> Result<Vec<Repair>> {
        let key = self.keys.one("settings");
        let mut all = redis::cmd("HGETALL");
        all.arg(&key[..]);
        let mut repairs = Vec::new();
        for (name, text) in value::pairs(self.link().ask(&key, &all).await?)? {
            let (known, set) = (
                String::from_utf8_lossy(&name),
                String::from_utf8_lossy(&text),
            );
            if Setting::new(&known, &set).is_err() {
                let mut drop = redis::cmd("HDEL");
                drop.arg(&key[..]).arg(&name[..]);
                self.link().ask(&key, &drop).await?;
                repairs.push(repair::repair("setting_unreadable", "", &known)?);
            }
        }
        Ok(repairs)
    }

    /// The numbers of partitions so far, as the second partition knows them; empty if it does not exist.
    async fn counts_in_second(&self) -> Result<Vec<u32>> {
        let keys = Keys::of_queue(&self.link().address().prefix, &self.queue, 1);
        let key = keys.one("state");
        let mut get = redis::cmd("HMGET");
        get.arg(&key[..]).arg(STATS_FIELD).arg(EARLIER_FIELD);
        let mut found = Reply::list(self.link().ask(&key, &get).await?)?;
        let Some(stats) = found.maybe_bytes()? else {
            return Ok(Vec::new());
        };
        let earlier = found.maybe_bytes()?.unwrap_or_default();
        let mut counts: Vec<u32> = String::from_utf8_lossy(&earlier)
            .split_whitespace()
            .filter_map(|count| count.parse().ok())
            .collect();
        counts.push(StatsRecord::read(&stats)?.partitions());
        Ok(counts)
    }
}

const fn type_name(kind: KeyType) -> &'static str {
    match kind {
        KeyType::Hash => "hash",
        KeyType::List => "list",
        KeyType::Set => "set",
        KeyType::SortedSet => "zset",
        KeyType::Text | KeyType::Channel => "string",
    }
}

fn wrong_type(key: &str, found: &str, wanted: &str) -> Error {
    Error::new(
        ErrorKind::StoreDamaged,
        format!("wrong_type: key {key} is a {found}, expected a {wanted}"),
        "find out what wrote it; RENAME it, or DEL it if nothing needs it, then run `windlass audit` \
         again: it restores what the queue stored there as far as possible",
    )
}
