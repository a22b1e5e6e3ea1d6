//! Decodes arbitrary bytes as stored values, for the fuzz targets. An unreadable value is an error.

use std::collections::HashMap;

use async_trait::async_trait;
use redis::{Cmd, Value};
use windlass_core::{
    Bytes, ErrorKind, JobId, JobState, QueueName, Result, ScheduleName, Timestamp,
};

use crate::codec::claim::{OpenClaim, StoredClaim, StoredOwner, read_left};
use crate::codec::end::{EndRecord, Tombstone};
use crate::codec::entry::{Entry, StaleEntries};
use crate::codec::job::{RawJob, claimed, opts_of};
use crate::codec::lease::StoredLease;
use crate::codec::schedule::{read_definition, read_record};
use crate::codec::stats::{StateCounts, StatsRecord};
use crate::codec::{error_group, progress, rules};
use crate::dump::{self, Ask};
use crate::keys::Keys;

/// Separates the keys of a planted queue.
const KEY_END: u8 = 0x1e;

/// Separates the name of a planted key and its items.
const ITEM_END: u8 = 0x1f;

/// Decodes a value of the kind that the first byte selects: a letter of a field of
/// `docs/redis-layout.md`.
pub fn decode(data: &[u8]) {
    let Some((kind, value)) = data.split_first() else {
        return;
    };
    check(match kind {
        b'c' => StoredClaim::read(value).map(drop),
        b'o' => OpenClaim::read(value).map(drop),
        b'l' => read_left(value).map(drop),
        b'w' => StoredOwner::read(value).map(drop),
        b'e' => EndRecord::read(value).map(drop),
        b't' => Tombstone::read(b"id", value)
            .and(Tombstone::read(b"\x01key", value))
            .map(drop),
        b'r' => Entry::read(value).map(drop),
        b'g' => StaleEntries::read(value).map(drop),
        b'h' => StoredLease::read(value).map(|lease| _ = lease.accepted_at()),
        b'p' => progress::read(value).map(drop),
        b's' => stats(value),
        b'd' => schedule(value),
        b'k' => settings(value),
        b'f' => error_group(value),
        b'j' => claimed_job(value),
        _ => job(value),
    });
}

fn check(decoded: Result<()>) {
    if let Err(error) = decoded {
        let kind = error.kind();
        let is_expected = [ErrorKind::StoreDamaged, ErrorKind::StoreNewer].contains(&kind);
        assert!(is_expected, "{kind:?}: {error}");
    }
}

fn stats(value: &[u8]) -> Result<()> {
    let record = StatsRecord::read(value)?;
    let now = Timestamp::from_ms(record.mark_us() / 1000);
    let _ = (
        record.partitions(),
        record.stats(now, &StateCounts::default()),
    );
    Ok(())
}

fn settings(value: &[u8]) -> Result<()> {
    let mut items = value.split(|byte| *byte == ITEM_END).map(bytes);
    let mut texts = Vec::new();
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        texts.push((name, value));
    }
    rules::settings(&texts).map(drop)
}

/// A definition and, after the byte 31, a plan.
fn schedule(value: &[u8]) -> Result<()> {
    let mut parts = value.splitn(2, |byte| *byte == ITEM_END).map(bytes);
    let mut part = || parts.next().unwrap_or_default();
    let schedule = read_definition(&ScheduleName::new("a")?, &part())?;
    read_record(schedule, &part()).map(drop)
}

/// The name of a group of errors and, after the byte 31, its record.
fn error_group(value: &[u8]) -> Result<()> {
    let mut parts = value.splitn(2, |byte| *byte == ITEM_END);
    let mut part = || parts.next().unwrap_or_default();
    error_group::read(part(), part(), Timestamp::from_ms(3_600_000)).map(drop)
}

fn claimed_job(value: &[u8]) -> Result<()> {
    let id = JobId::new("01arz3ndektsv4rrffq69g5fav")?;
    let opts = opts_of(&id, value)?;
    claimed(id, Bytes::new(), opts).map(drop)
}

/// A job from its values, in the order of [`RawJob`].
fn job(value: &[u8]) -> Result<()> {
    let mut items = value.split(|byte| *byte == ITEM_END);
    let state = items
        .next()
        .and_then(|state| std::str::from_utf8(state).ok());
    let state = state.and_then(JobState::from_text);
    let mut item = || items.next().map(bytes);
    let raw = RawJob {
        opts: item(),
        lease: item(),
        owner: item(),
        end: item(),
        due: item().and_then(|due| std::str::from_utf8(&due).ok()?.parse().ok()),
        error: item(),
        progress: item(),
        ..RawJob::new(JobId::new("a")?, state.unwrap_or(JobState::Running))
    };
    raw.read(&QueueName::new("q")?).map(drop)
}

fn bytes(value: &[u8]) -> Bytes {
    Bytes::copy_from_slice(value)
}

/// Dumps a queue whose keys are planted: each is a name and its items, separated by the byte 31, and
/// ends with the byte 30.
pub async fn dump(data: &[u8]) {
    let queue = QueueName::new("q").expect("the name is valid");
    let keys = Keys::of_queue("windlass", &queue, 0);
    let planted = Planted::read(data);
    check(dump::read(&planted, &keys, &queue, 0).await.map(drop));
}

/// The values of keys, by name.
struct Planted<'a>(HashMap<&'a [u8], Value>);

impl<'a> Planted<'a> {
    fn read(data: &'a [u8]) -> Self {
        let mut keys = HashMap::new();
        for key in data.split(|byte| *byte == KEY_END) {
            let mut items = key.split(|byte| *byte == ITEM_END);
            let name = items.next().unwrap_or_default();
            let items = items.map(|item| Value::BulkString(item.to_vec()));
            keys.insert(name, Value::Array(items.collect()));
        }
        Self(keys)
    }
}

#[async_trait]
impl Ask for Planted<'_> {
    async fn ask(&self, key: &[u8], _: &Cmd) -> Result<Value> {
        let name = key.rsplit(|byte| *byte == b'}').next().unwrap_or_default();
        let name = name.strip_prefix(b":").unwrap_or(name);
        Ok(self
            .0
            .get(name)
            .cloned()
            .unwrap_or(Value::Array(Vec::new())))
    }
}
