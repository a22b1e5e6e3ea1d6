//! Dumps the complete state of a queue in the canonical form used to compare stores.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, params};
use windlass_core::dump::{ClaimDump, Dump, LeaseDump, QueueDump};
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::time::{Now, as_ms};
use windlass_core::{
    JobId, JobState, OutcomeStatus, Owner, Priority, QueueName, Result, Timestamp, Token, UniqueKey,
};

use crate::SqliteStore;
use crate::error::{TxError, TxResult};
use crate::read;
use crate::row::{self, Blobs, job_id, state_of, token_of};
use crate::transaction::QueueRow;

#[async_trait]
impl Dump for SqliteStore {
    async fn dump(&self, queue: &QueueName) -> Result<Option<QueueDump>> {
        let (name, clock_us) = (queue.clone(), self.clock.now_us());
        self.reader.read(move |db| dump(db, &name, clock_us)).await
    }
}

fn dump(db: &Connection, name: &QueueName, clock_us: u64) -> TxResult<Option<QueueDump>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(None);
    };
    let now_ms = Now::guard(queue.mark_us, clock_us).ms().as_ms();
    let jobs = row::select_jobs(db, name, Blobs::Read, "queue = ?1 ORDER BY id", [queue.key])?;
    let jobs: Vec<_> = jobs.into_iter().map(|(_, job)| job).collect();
    let is_live = |state: JobState| !state.is_final();
    let mut unique_keys: Vec<(UniqueKey, JobId)> = jobs
        .iter()
        .filter(|job| is_live(job.state))
        .filter_map(|job| Some((job.unique_key.clone()?, job.id.clone())))
        .collect();
    unique_keys.sort();
    Ok(Some(QueueDump {
        ready: Priority::all()
            .map(|priority| lanes(db, &queue, priority))
            .collect::<TxResult<_>>()?,
        jobs,
        unique_keys,
        tombstones: tombstones(db, &queue, now_ms)?,
        leases: leases(db, &queue)?,
        claims: claims(db, &queue, now_ms)?,
        stats: read::stats(db, name, clock_us)?.unwrap_or_default(),
        settings: queue.settings,
    }))
}

fn lanes(
    db: &Connection,
    queue: &QueueRow,
    priority: Priority,
) -> TxResult<(Vec<JobId>, Vec<JobId>)> {
    let lane = |lane: u8| -> TxResult<Vec<JobId>> {
        let mut statement = db.prepare_cached(
            "SELECT id FROM job WHERE queue = ?1 AND state = 1 AND priority = ?2 AND lane = ?3
             ORDER BY position",
        )?;
        let params = params![queue.key, priority.level(), lane];
        let rows = statement.query_map(params, |row| row.get::<_, String>(0))?;
        rows.map(|id| job_id(&id?)).collect()
    };
    Ok((lane(0)?, lane(1)?))
}

fn tombstones(
    db: &Connection,
    queue: &QueueRow,
    now_ms: u64,
) -> TxResult<Vec<(JobId, JobState, Timestamp)>> {
    let mut statement = db.prepare_cached(
        "SELECT id, state, until FROM tombstone WHERE queue = ?1 AND until > ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![queue.key, now_ms])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let until = Timestamp::from_ms(row.get(2)?);
        found.push((
            job_id(&row.get::<_, String>(0)?)?,
            state_of(row.get(1)?)?,
            until,
        ));
    }
    Ok(found)
}

fn leases(db: &Connection, queue: &QueueRow) -> TxResult<Vec<LeaseDump>> {
    let mut statement = db.prepare_cached(
        "SELECT owner, until, length_ms, last_seq, last_number, last_nonce
         FROM lease WHERE queue = ?1 ORDER BY owner",
    )?;
    let rows = statement.query_map([queue.key], |row| {
        let last_seq: Option<u64> = row.get(3)?;
        Ok(LeaseDump {
            owner: Owner::from_stored(row.get(0)?),
            until: Timestamp::from_ms(row.get(1)?),
            length: Duration::from_millis(row.get(2)?),
            last: last_seq.zip(token_of(row.get(4)?, row.get(5)?)),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn claims(db: &Connection, queue: &QueueRow, now_ms: u64) -> TxResult<Vec<ClaimDump>> {
    let mut statement = db.prepare_cached(
        "SELECT number, nonce, owner, seq, size, remaining, finished_at FROM claim
         WHERE queue = ?1 AND ifnull(finished_at + ?2 > ?3, 1) ORDER BY number, nonce",
    )?;
    let rows = statement.query_map(params![queue.key, as_ms(CLAIM_TOMBSTONE), now_ms], |row| {
        Ok(ClaimDump {
            token: Token {
                number: row.get(0)?,
                nonce: row.get(1)?,
            },
            owner: Owner::from_stored(row.get(2)?),
            seq: row.get(3)?,
            size: row.get(4)?,
            remaining: row.get(5)?,
            left: Vec::new(),
            finished_at: row.get::<_, Option<u64>>(6)?.map(Timestamp::from_ms),
        })
    })?;
    let mut claims: Vec<ClaimDump> = rows.collect::<Result<_, _>>()?;
    for claim in &mut claims {
        claim.left = departures(db, queue, claim.token)?;
    }
    Ok(claims)
}

fn departures(
    db: &Connection,
    queue: &QueueRow,
    token: Token,
) -> TxResult<Vec<(JobId, OutcomeStatus)>> {
    let mut statement = db.prepare_cached(
        "SELECT id, how FROM departure WHERE queue = ?1 AND number = ?2 ORDER BY id",
    )?;
    let mut rows = statement.query(params![queue.key, token.number])?;
    let mut left = Vec::new();
    while let Some(row) = rows.next()? {
        let how: String = row.get(1)?;
        let known =
            OutcomeStatus::from_text(&how).ok_or_else(|| TxError::corrupt("departure", how))?;
        left.push((job_id(&row.get::<_, String>(0)?)?, known));
    }
    Ok(left)
}
