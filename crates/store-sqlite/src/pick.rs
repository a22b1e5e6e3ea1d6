//! Picks ready jobs for a claim, highest priority first. A suspect is claimed alone.

use std::time::Duration;

use rusqlite::{Connection, Params, Row, params};
use windlass_core::limits::{CLAIM_BYTES_MAX, CLAIM_MAX, PAGE, SUSPECT_AFTER, SUSPECT_COOLDOWN};
use windlass_core::store::{ClaimedJob, Reason};
use windlass_core::{ClaimRequest, Priority, Timestamp};

use crate::claim::LeaseRow;
use crate::error::TxResult;
use crate::lane;
use crate::row::{self, JobMeta};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// A job picked for a claim.
#[derive(Debug)]
pub(crate) struct Picked {
    pub(crate) key: i64,
    /// Its position in its lane.
    pub(crate) position: i64,
    /// The lane of a job with a group.
    pub(crate) lane: i64,
    /// It is marked as running already.
    pub(crate) is_started: bool,
    expires_at: Option<u64>,
    /// It holds its unique key only until it starts.
    pub(crate) frees_key: bool,
    /// What the worker receives.
    pub(crate) job: ClaimedJob,
}

/// The columns of a [`Picked`]. A claim reads few columns, because it reads them for every job.
const COLUMNS: &str = "key, position, expires_at, id, kind, payload, headers, priority, attempt, \
    expiries, retry, timeout_ms, created_at, due_at, unique_for_ms";

/// The columns of a job that may have a group.
const GROUP_COLUMNS: &str = "group_name, lane";

impl QueueTx<'_> {
    /// Picks ready jobs, highest priority first, up to `max` jobs, the limits of the queue and `CLAIM_BYTES_MAX`
    /// of payload. A suspect is picked alone.
    pub(crate) fn pick(
        &mut self,
        request: &ClaimRequest,
        lease: Option<&LeaseRow>,
    ) -> TxResult<Vec<Picked>> {
        let max = request.max.min(CLAIM_MAX).min(self.queue.allowed(self.now));
        if max == 0 {
            return Ok(Vec::new());
        }
        let may_pick_suspect = self.may_pick_suspect(lease)?;
        if self.queue.counters.grouped_ready > 0 {
            return self.pick_in_turn(request, max, may_pick_suspect);
        }
        let mut picked: Vec<Picked> = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        for priority in Priority::all() {
            // Jobs already picked stay in the lane, and are counted, until they are marked as running.
            let [suspects, others] = lane::lanes(priority);
            let (mut after, mut here) = if may_pick_suspect {
                ((suspects, i64::MIN), 0)
            } else {
                ((suspects, i64::MAX), 0)
            };
            while expired < PAGE
                && picked.len() < max
                && self.queue.counters.ready[priority.index()] > here
            {
                let page = self.lanes(after, others, max - picked.len())?;
                let is_end = page.is_empty();
                for next in page {
                    if expired >= PAGE {
                        break;
                    }
                    let is_suspect = next.job.expiries >= SUSPECT_AFTER;
                    if is_suspect && !picked.is_empty() {
                        return Ok(picked);
                    }
                    after = (lane::lane_of(priority, next.job.expiries), next.position);
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

    /// The next jobs without a group after a lane and position, up to the last job of a lane.
    pub(crate) fn lanes(
        &self,
        (lane, position): (i64, i64),
        last_lane: i64,
        limit: usize,
    ) -> TxResult<Vec<Picked>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM job WHERE queue = ?1 AND state = 1 AND group_name IS NULL
                 AND (lane, position) > (?2, ?3) AND lane <= ?4 ORDER BY lane, position LIMIT ?5"
        );
        let params = params![self.queue.key, lane, position, last_lane, limit];
        self.read_claimable(&sql, params)
    }

    /// Selects jobs by a condition on the table `job`, in its order.
    pub(crate) fn claimable(&self, condition: &str, params: impl Params) -> TxResult<Vec<Picked>> {
        let sql = format!("SELECT {COLUMNS}, {GROUP_COLUMNS} FROM job WHERE {condition}");
        self.read_claimable(&sql, params)
    }

    /// Reads jobs. Stops after the one that exceeds the payload of a claim.
    fn read_claimable(&self, sql: &str, params: impl Params) -> TxResult<Vec<Picked>> {
        let mut statement = self.db.prepare_cached(sql)?;
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
    pub(crate) fn end_if_expired(&mut self, picked: &Picked) -> TxResult<bool> {
        if picked.expires_at.is_none_or(|at| at > self.now_ms()) {
            return Ok(false);
        }
        if let Some(job) = JobMeta::first(self.db, "key = ?1", [picked.key])? {
            self.end_dead(&job, Reason::Expired)?;
        }
        Ok(true)
    }
}

impl Picked {
    fn read(db: &Connection, row: &Row<'_>) -> TxResult<Self> {
        let key = row.get(0)?;
        let has_group_columns = row.as_ref().column_count() > 15;
        let (group, lane) = if has_group_columns {
            (row::read_group(row, 15)?, row.get(16)?)
        } else {
            (None, 0)
        };
        let job = ClaimedJob {
            id: row::read_id(row, 3)?,
            kind: row::read_kind(row, 4)?,
            payload: row::payload(db, key, row.get(5)?)?,
            headers: row::read_headers(row, 6)?,
            group,
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
            lane,
            is_started: false,
            expires_at: row.get(2)?,
            frees_key: row.get::<_, Option<i64>>(14)? == Some(row::UNTIL_START),
            job,
        })
    }
}
