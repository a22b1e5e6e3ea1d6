//! The beginning of an audit: whether the keys hold what they should, and whether the queue is whole
//! enough for the other scripts to work on it.

use windlass_core::{Error, ErrorKind, Repair, Result, Setting};

use super::page::Page;
use super::repair;
use crate::codec::stats::Figures;
use crate::codec::value;
use crate::keys::{KeyType, Keys};
use crate::partition::Part;
use crate::queue::Queue;
use crate::reply::{self, Reply};

/// What the beginning found.
#[derive(Debug)]
pub(super) enum Start {
    /// There is no queue here.
    Absent,
    /// There is one, by now.
    Sound(Vec<Repair>),
}

impl Queue {
    pub(super) async fn start_audit(&self, part: &Part) -> Result<Start> {
        part.check_kinds().await?;
        let script = &part.scripts().audit_begin;
        let mut page = Page::read(part.list(script, Vec::new()).await?)?;
        if page.next == "absent" {
            return Ok(Start::Absent);
        }
        page.repairs.extend(part.mend_settings().await?);
        if !page.rest.is_empty() {
            let are_rules_lost = page.rest.text()? == "rules";
            self.restore(part, are_rules_lost).await?;
        }
        if part.number == 0 {
            page.repairs.extend(part.list_queue().await?);
        }
        Ok(Start::Sound(page.repairs))
    }

    /// Figures were lost, and the number of parts with them, or the rules: the second part says how
    /// many there are, the settings what the rules were.
    async fn restore(&self, part: &Part, are_rules_lost: bool) -> Result<()> {
        let settings = part.settings().await?;
        if are_rules_lost {
            part.set(&settings.all()).await?;
        }
        if part.number == 0 {
            for count in part.counts_of_second().await? {
                part.partition(count, 0).await?;
                self.learn(count);
            }
            self.grow_to(settings.partitions).await?;
        }
        Ok(())
    }
}

impl Part {
    /// Refuses a key that holds something else than Windlass keeps there: whatever it is, it is not
    /// ours to remove.
    pub(super) async fn check_kinds(&self) -> Result<()> {
        let script = &self.scripts().audit_types;
        let mut found = Reply::list(self.run(script, Vec::new()).await?)?;
        let kinds = script
            .keys
            .iter()
            .flat_map(|key| vec![key.kind(); key.count()]);
        for (key, kind) in self.keys.declared(&script.keys).iter().zip(kinds) {
            let word = found.text()?;
            if word != "none" && word != word_of(kind) {
                return Err(wrong_type(
                    &String::from_utf8_lossy(key),
                    &word,
                    word_of(kind),
                ));
            }
        }
        Ok(())
    }

    /// Drops settings that cannot be read, since none could be read or set beside them.
    async fn mend_settings(&self) -> Result<Vec<Repair>> {
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

    /// Puts the queue on the list of queues, where it must be. A full server refuses even what would
    /// change nothing.
    async fn list_queue(&self) -> Result<Option<Repair>> {
        let registry = Keys::of_registry(&self.link().address().prefix).one("queues");
        if self
            .has("SISMEMBER", &registry, self.queue.as_str())
            .await?
        {
            return Ok(None);
        }
        let mut add = redis::cmd("SADD");
        add.arg(&registry[..]).arg(self.queue.as_str());
        let added = reply::int(&self.link().ask(&registry, &add).await?)?;
        match added {
            0 => Ok(None),
            _ => repair::repair("queue_not_listed", "", "").map(Some),
        }
    }

    /// The numbers of parts that the queue had, as its second part knows them; none where there is
    /// no such part.
    async fn counts_of_second(&self) -> Result<Vec<u32>> {
        let keys = Keys::of_queue(&self.link().address().prefix, &self.queue, 1);
        let key = keys.one("state");
        let mut get = redis::cmd("HMGET");
        get.arg(&key[..]).arg("figures").arg("earlier");
        let mut found = Reply::list(self.link().ask(&key, &get).await?)?;
        let Some(figures) = found.maybe_bytes()? else {
            return Ok(Vec::new());
        };
        let earlier = found.maybe_bytes()?.unwrap_or_default();
        let mut counts: Vec<u32> = String::from_utf8_lossy(&earlier)
            .split_whitespace()
            .filter_map(|count| count.parse().ok())
            .collect();
        counts.push(Figures::read(&figures)?.partitions());
        Ok(counts)
    }
}

const fn word_of(kind: KeyType) -> &'static str {
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
        format!("wrong_type: the key {key} holds a {found}, where Windlass keeps a {wanted}"),
        "find out what wrote it; move it away with RENAME, or DEL it if nothing needs it, then run \
         `windlass clean --deep` again: what the queue kept there is mended as far as it can be",
    )
}
