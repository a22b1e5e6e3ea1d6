//! Dumps the complete state of a queue in the canonical form used to compare stores.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, params};
use windlass_core::dump::{ClaimDump, Dump, LeaseDump, QueueDump};
use windlass_core::history::HISTORY_MINUTES;
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::store::{Owner, UniqueKey};
use windlass_core::time::{Now, as_ms};
use windlass_core::{
    JobId, JobState, OutcomeStatus, Priority, QueueName, Result, Timestamp, Token,
};

use crate::SqliteStore;
use crate::error::TxResult;
use crate::errors;
use crate::group;
use crate::history;
use crate::lane;
use crate::lease;
use crate::read;
use crate::row::{self, Blobs, job_id, read_id, token_of};
use crate::schedule;
use crate::sql::Sql;
use crate::tombstone::Tombstone;
use crate::transaction::QueueRow;

#[async_trait]
impl Dump for SqliteStore {
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>> {
        let (name, path) = (queue.clone(), self.path.clone());
        let clock_us = self.options.clock.now_us();
        self.reader
            .read(move |db| dump(db, &path, &name, clock_us))
            .await
    }
}

fn dump(
    db: &Connection,
    path: &Path,
    name: &QueueName,
    clock_us: u64,
) -> TxResult<Option<QueueDump>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(None);
    };
    let now = Now::guard(queue.mark_us, clock_us);
    let now_ms = now.ms().as_ms();
    let (all, order) = (Blobs::Read, "queue = ?1 ORDER BY id");
    let jobs = row::select_jobs(db, name, all, order, [queue.key])?;
    let groups = group::dump(db, &queue, now, &jobs)?;
    let jobs: Vec<_> = jobs.into_iter().map(|(_, job)| job).collect();
    let is_live = |state: JobState| !state.is_final();
    let mut unique_keys: Vec<(UniqueKey, JobId)> = jobs
        .iter()
        .filter(|job| is_live(job.state))
        .filter_map(|job| Some((job.unique_key.clone()?, job.id.clone())))
        .collect();
    unique_keys.sort();
    let (mut tombstones, mut held_keys, mut amendments) = (vec![], vec![], vec![]);
    let condition = "queue = ?1 AND until > ?2 ORDER BY id";
    for tombstone in Tombstone::select(db, condition, params![queue.key, now_ms])? {
        let key = tombstone.key().map(row::unique_key).transpose()?;
        let Tombstone { name, reply, until } = tombstone;
        let reply = reply?;
        let (id, state) = (reply.id().clone(), reply.state());
        match key {
            Some(key) => held_keys.push((key, id, state, until)),
            None if reply.is_duplicate() => tombstones.push((id, state, until)),
            None => amendments.push((job_id(&name)?, reply, until)),
        }
    }
    Ok(Some(QueueDump {
        ready: Priority::all()
            .map(|priority| lanes(db, &queue, priority))
            .collect::<TxResult<_>>()?,
        groups,
        turns: group::turns(db, &queue)?,
        jobs,
        unique_keys,
        tombstones,
        held_keys,
        amendments,
        schedules: schedule::select(db, "queue = ?1 ORDER BY name", [queue.key])?,
        error_groups: errors::groups(db, name, clock_us)?,
        leases: leases(db, &queue)?,
        claims: claims(db, &queue, now_ms)?,
        stats: read::stats(db, path, name, clock_us)?.unwrap_or_default(),
        history: history::read(db, name, HISTORY_MINUTES, clock_us)?,
        rate_next_us: queue.settings.rate.map(|_| queue.rate_next_us),
        settings: queue.settings,
    }))
}

fn lanes(
    db: &Connection,
    queue: &QueueRow,
    priority: Priority,
) -> TxResult<(Vec<JobId>, Vec<JobId>)> {
    let lane = |lane: i64| {
        db.rows(
            "SELECT id FROM job WHERE queue = ?1 AND state = 1 AND group_name IS NULL AND lane = ?2
             ORDER BY position",
            params![queue.key, lane],
            |row| read_id(row, 0),
        )
    };
    let [suspects, others] = lane::lanes(priority);
    Ok((lane(suspects)?, lane(others)?))
}

fn leases(db: &Connection, queue: &QueueRow) -> TxResult<Vec<LeaseDump>> {
    db.rows(
        "SELECT owner, until, length_ms, last_seq, last_number, last_nonce
         FROM lease WHERE queue = ?1 ORDER BY owner",
        [queue.key],
        |row| {
            let last_seq: Option<u64> = row.get(3)?;
            Ok(LeaseDump {
                owner: Owner::from_stored(row.get(0)?),
                until: Timestamp::from_ms(row.get(1)?),
                length: Duration::from_millis(row.get(2)?),
                last: last_seq.zip(token_of(row.get(4)?, row.get(5)?)),
            })
        },
    )
}

fn claims(db: &Connection, queue: &QueueRow, now_ms: u64) -> TxResult<Vec<ClaimDump>> {
    db.rows(
        "SELECT number, nonce, owner, seq, size, remaining, finished_at FROM claim
         WHERE queue = ?1 AND ifnull(finished_at + ?2 > ?3, 1) ORDER BY number, nonce",
        params![queue.key, as_ms(CLAIM_TOMBSTONE), now_ms],
        |row| {
            let token = Token {
                number: row.get(0)?,
                nonce: row.get(1)?,
            };
            Ok(ClaimDump {
                token,
                owner: Owner::from_stored(row.get(2)?),
                seq: row.get(3)?,
                size: row.get(4)?,
                remaining: row.get(5)?,
                left: departures(db, queue, token)?,
                finished_at: row.get::<_, Option<u64>>(6)?.map(Timestamp::from_ms),
            })
        },
    )
}

fn departures(
    db: &Connection,
    queue: &QueueRow,
    token: Token,
) -> TxResult<Vec<(JobId, OutcomeStatus)>> {
    db.rows(
        "SELECT id, how FROM departure WHERE queue = ?1 AND number = ?2 ORDER BY id",
        params![queue.key, token.number],
        |row| {
            Ok((
                read_id(row, 0)?,
                lease::departure(&row.get::<_, String>(1)?)?,
            ))
        },
    )
}
