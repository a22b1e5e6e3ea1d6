//! Groups in one partition: change and read them.

use std::time::Duration;

use bytes::Bytes;
use windlass_core::rate::Rate;
use windlass_core::store::{GroupChange, GroupName, GroupRecord, Settings};
use windlass_core::{Error, Result, Timestamp};
use windlass_redis_link::reply::{self, Reply, unexpected_reply};

use crate::codec::group::{limit_arg, limits_of};
use crate::partition::{Partition, number_arg, text_arg};

/// A page of the groups of one partition.
#[derive(Debug)]
pub(crate) struct GroupPage {
    /// The name after which the next page begins.
    pub(crate) next: Option<GroupName>,
    pub(crate) records: Vec<GroupRecord>,
}

impl Partition {
    pub(crate) async fn set_group(
        &self,
        group: &GroupName,
        change: &GroupChange,
    ) -> Result<GroupRecord> {
        let paused = change
            .is_paused
            .map(|is_paused| number_arg(u8::from(is_paused)));
        let count = limit_arg(change.rate, |rate| rate.count().to_string());
        let period = limit_arg(change.rate, |rate| rate.period().as_micros().to_string());
        let args = vec![
            text_arg(group.as_str()),
            paused.unwrap_or_default(),
            Bytes::from(limit_arg(change.max_running, |max| max.to_string())),
            Bytes::from(count),
            Bytes::from(period),
            Bytes::from(limit_arg(change.burst, |burst| burst.to_string())),
        ];
        let reply = self.run_or_create(&self.scripts().group_set, args).await?;
        if let Ok(refusal) = reply::text(reply.clone()) {
            return Err(burst_error(&refusal));
        }
        read_group(&mut Reply::list(reply)?)
    }

    /// Whether the queue has groups here.
    pub(crate) async fn has_groups(&self) -> Result<bool> {
        let key = self.keys.one("groups");
        let mut count = redis::cmd("HLEN");
        count.arg(&key[..]);
        Ok(reply::int(&self.link().ask(&key, &count).await?)? > 0)
    }

    pub(crate) async fn group(&self, name: &GroupName) -> Result<Option<GroupRecord>> {
        let args = vec![Bytes::from_static(b"one"), text_arg(name.as_str())];
        Ok(self.list_groups(args).await?.records.pop())
    }

    pub(crate) async fn groups(&self, from: Option<&GroupName>, limit: usize) -> Result<GroupPage> {
        let from = from.map_or("", |from| from.as_str());
        let args = vec![
            Bytes::from_static(b"page"),
            text_arg(from),
            number_arg(limit),
        ];
        self.list_groups(args).await
    }

    async fn list_groups(&self, args: Vec<Bytes>) -> Result<GroupPage> {
        let mut reply = self.run_list(&self.scripts().group_list, args).await?;
        let next = reply.text()?;
        let next = (!next.is_empty()).then(|| GroupName::new(next));
        let mut records = Vec::new();
        while !reply.is_empty() {
            records.push(read_group(&mut reply)?);
        }
        Ok(GroupPage {
            next: next.transpose()?,
            records,
        })
    }
}

/// The values of `lua/lib/group/reply.lua`.
fn read_group(reply: &mut Reply) -> Result<GroupRecord> {
    let name = GroupName::new(reply.text()?)?;
    let (ready, slots) = (reply.count()?, reply.count()?);
    let is_paused = reply.count()? == 1;
    let mut time = || {
        let ms = reply.count()?;
        Ok::<_, Error>((ms > 0).then(|| Timestamp::from_ms(ms)))
    };
    let (resting_until, opens_at) = (time()?, time()?);
    let [max_running, count, period, burst] =
        [reply.text()?, reply.text()?, reply.text()?, reply.text()?];
    Ok(GroupRecord {
        name,
        ready,
        slots,
        is_paused,
        resting_until,
        opens_at,
        limits: limits_of(&max_running, &count, &period, &burst)?,
    })
}

/// The error that every store has for the refusal `burst COUNT PERIOD BURST`.
pub(crate) fn burst_error(refusal: &str) -> Error {
    let unknown = || unexpected_reply("it has an unknown refusal");
    let mut words = refusal.split(' ');
    let mut numbers = || {
        let _ = words.next().filter(|word| *word == "burst")?;
        let count = words.next()?.parse().ok()?;
        let period = Duration::from_micros(words.next()?.parse().ok()?);
        let rate = Rate::new(count, period).ok()?;
        Some((rate, words.next()?.parse().ok()?))
    };
    let Some((rate, burst)) = numbers() else {
        return unknown();
    };
    let mut settings = Settings::default();
    (settings.rate, settings.burst) = (Some(rate), burst);
    settings.check().err().unwrap_or_else(unknown)
}
