//! Picks ready jobs for a claim, highest priority first. A suspect is claimed alone.

use std::time::Duration;

use rusqlite::{Connection, Params, Row, params};
use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, PAGE, SUSPECT_AFTER, SUSPECT_COOLDOWN};
use windlass_core::store::{ClaimedJob, Reason};
use windlass_core::{ClaimRequest, Priority, Timestamp};

use crate::claim::LeaseRow;
use crate::error::TxResult;
use crate::row::{self, JobMeta};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// A job picked for a claim.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) key: i64,
    /// Its position in its lane.
    pub(crate) position: i64,
    expires_at: Option<u64>,
    /// It holds its unique key only until it starts.
    pub(crate) frees_key: bool,
    /// What the worker receives.
    pub(crate) job: ClaimedJob,
}

/// The columns of a [`Picked`]. A claim reads few columns, because it reads them for every job.
const COLUMNS: &str = "key, position, expires_at, id, kind, payload, headers, priority, attempt, \
    expiries, retry, timeout_ms, created_at, due_at, unique_for_ms";

/// Before the first suspect of a priority, and before its other jobs: lane and position.
const SUSPECTS: (u8, i64) = (0, i64::MIN);
const OTHERS: (u8, i64) = (0, i64::MAX);

impl QueueTx<'_> {
    /// Picks ready jobs, highest priority first, up to `max` jobs and `CLAIM_BYTES_MAX` of payload. A
    /// suspect is picked alone.
    pub(crate) fn pick(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
    ) -> TxResult<Vec<Picked>> {
        let max = request.max.min(CLAIM_MAX);
        let first = if self.may_pick_suspect(lease)? {
            SUSPECTS
        } else {
            OTHERS
        };
        let mut picked: Vec<Picked> = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        for priority in Priority::all() {
            // Jobs already picked stay in the lane, and are counted, until they are marked as running.
            let (mut after, mut here) = (first, 0);
            while expired < PAGE
                && picked.len() < max
                && self.queue.counters.ready[priority.index()] > here
            {
                let page = self.lane(priority, after, max - picked.len())?;
                let is_end = page.is_empty();
                for next in page {
                    if expired >= PAGE {
                        break;
                    }
                    let is_suspect = next.job.expiries >= SUSPECT_AFTER;
                    if is_suspect && !picked.is_empty() {
                        return Ok(picked);
                    }
                    after = (row::lane_of(next.job.expiries), next.position);
                    if self.end_if_expired(&next)? {
                        expired += 1;
                        continue;
                    }
                    if is_suspect {
                        return Ok(vec![next]);
                    }
                    bytes += next.job.payload.len();
                    if bytes > CLAIM_BYTES_MAX && !picked.is_empty() {
                        return Ok(picked);
                    }
                    here += 1;
                    picked.push(next);
                }
                if is_end {
                    break;
                }
            }
        }
        Ok(picked)
    }

    /// The next jobs of a priority, suspects first, after a lane and position.
    fn lane(
        &self,
        priority: Priority,
        (lane, position): (u8, i64),
        limit: usize,
    ) -> TxResult<Vec<Picked>> {
        let condition = "queue = ?1 AND state = 1 AND priority = ?2
            AND (lane, position) > (?3, ?4) ORDER BY lane, position LIMIT ?5";
        let (key, level) = (self.queue.key, priority.level());
        self.claimable(condition, params![key, level, lane, position, limit])
    }

    /// Selects jobs by a condition on the table `job`, in its order. Stops after the one that exceeds the
    /// payload of a claim.
    pub(crate) fn claimable(&self, condition: &str, params: impl Params) -> TxResult<Vec<Picked>> {
        let sql = format!("SELECT {COLUMNS} FROM job WHERE {condition}");
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params)?;
        let (mut picked, mut bytes) = (Vec::new(), 0);
        while bytes <= CLAIM_BYTES_MAX
            && let Some(row) = rows.next()?
        {
            let next = Picked::read(self.db, row)?;
            bytes += next.job.payload.len();
            picked.push(next);
        }
        Ok(picked)
    }

    /// A boot may claim another suspect only once its last one has ended or has run for a while.
    fn may_pick_suspect(&self, lease: Option<&LeaseRow>) -> TxResult<bool> {
        let Some((id, number)) = lease.and_then(|lease| lease.suspect.as_ref()) else {
            return Ok(true);
        };
        let (since, now) = (Timestamp::from_ms(number / 1000), self.now.ms());
        // A token from the future: the clock was set back, so how long it ran is unknown.
        if now < since || now.since(since) >= SUSPECT_COOLDOWN {
            return Ok(true);
        }
        let leased = "SELECT 1 FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3";
        Ok(!self.db.has(leased, params![self.queue.key, id, number])?)
    }

    /// Ends a job whose expiry has passed. Returns whether it did.
    fn end_if_expired(&mut self, picked: &Picked) -> TxResult<bool> {
        if picked.expires_at.is_none_or(|at| at > self.now_ms()) {
            return Ok(false);
        }
        if let Some(job) = JobMeta::first(self.db, "key = ?1", [picked.key])? {
            self.end_dead(&job, Reason::Expired, None)?;
        }
        Ok(true)
    }
}

impl Picked {
    fn read(db: &Connection, row: &Row<'_>) -> TxResult<Self> {
        let key = row.get(0)?;
        let job = ClaimedJob {
            id: row::read_id(row, 3)?,
            kind: row::read_kind(row, 4)?,
            payload: row::payload(db, key, row.get(5)?)?,
            headers: row::read_headers(row, 6)?,
            priority: row::priority_of(row.get(7)?)?,
            attempt: row.get(8)?,
            expiries: row.get(9)?,
            retry: row::read_policy(row::text(row, 10)?)?,
            timeout: row.get::<_, Option<u64>>(11)?.map(Duration::from_millis),
            created_at: Timestamp::from_ms(row.get(12)?),
            due_at: Timestamp::from_ms(row.get(13)?),
        };
        Ok(Self {
            key,
            position: row.get(1)?,
            expires_at: row.get(2)?,
            frees_key: row.get::<_, Option<i64>>(14)? == Some(row::UNTIL_START),
            job,
        })
    }
}
