//! enqueue: deduplicates by id and by unique key.

use rusqlite::{CachedStatement, params};
use windlass_core::store::DurabilityLevel;
use windlass_core::time::as_ms;
use windlass_core::{Due, Enqueued, JobState, NewJob};

use crate::error::{TxError, TxResult};
use crate::read;
use crate::row::{self, INLINE_BYTES_MAX, JobMeta, state_number};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Inserts a new job unless its id exists.
const INSERT: &str = "INSERT INTO job (queue, id, state, priority, lane, position, attempt, expiries, \
    created_at, due_at, expires_at, is_named, keep_outcome, cancel_requested, kind, \
    unique_key, retry, timeout_ms, headers, payload_bytes, payload) \
    VALUES (?1, ?2, ?3, ?4, 1, ?5, 1, 0, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14, ?15, \
    ?16, ?17) \
    ON CONFLICT (queue, id) DO NOTHING";

impl QueueTx<'_> {
    pub(crate) fn enqueue(
        &mut self,
        jobs: &[NewJob],
        level: DurabilityLevel,
    ) -> TxResult<Vec<Enqueued>> {
        let mut insert = self.db.prepare_cached(INSERT)?;
        let enqueued = jobs
            .iter()
            .map(|job| self.enqueue_one(job, level, &mut insert));
        enqueued.collect()
    }

    fn enqueue_one(
        &mut self,
        new: &NewJob,
        level: DurabilityLevel,
        insert: &mut CachedStatement<'_>,
    ) -> TxResult<Enqueued> {
        // Without a unique key or tombstones, the insert itself detects a duplicate.
        if (new.unique_key.is_some() || self.queue.counters.tombstones > 0)
            && let Some(duplicate) = self.duplicate(new, level)?
        {
            return Ok(duplicate);
        }
        let now = self.now.ms();
        let due_at = new.due.resolve(self.now);
        let state = if due_at <= now {
            JobState::Ready
        } else {
            JobState::Scheduled
        };
        if !self.insert(new, state, insert)? {
            let hidden = || TxError::Damaged(format!("cannot read job {}", new.id));
            return self.duplicate(new, level)?.ok_or_else(hidden);
        }
        self.drop_tombstone(&new.id)?;
        let counters = &mut self.queue.counters;
        counters.enter(state, new.priority);
        counters.resize(0, new.payload.len() as u64);
        counters.total.enqueued += 1;
        counters.enqueued.add(now, 1);
        self.announce(&new.id, state);
        if state == JobState::Scheduled && self.is_next_due(due_at.as_ms())? {
            self.announce_work();
        }
        self.changed();
        Ok(Enqueued::Accepted {
            id: new.id.clone(),
            state,
            level,
        })
    }

    /// The reply if `new` duplicates an existing job: by id, then by unique key.
    fn duplicate(&mut self, new: &NewJob, level: DurabilityLevel) -> TxResult<Option<Enqueued>> {
        let mut existing = self.find(&new.id)?;
        if existing.is_none() {
            if let Some(state) = self.tombstone_state(&new.id)? {
                let id = new.id.clone();
                return Ok(Some(Enqueued::Duplicate { id, state, level }));
            }
            if let Some(key) = &new.unique_key {
                existing = self.holder(key.as_str())?;
            }
        }
        let Some(job) = existing else {
            return Ok(None);
        };
        // The caller wants to wait for the existing job, so its outcome must be kept.
        if new.keep_outcome && !job.keep_outcome && !job.state.is_final() {
            self.db
                .run("UPDATE job SET keep_outcome = 1 WHERE key = ?1", [job.key])?;
            self.changed();
        }
        Ok(Some(Enqueued::Duplicate {
            id: job.id,
            state: job.state,
            level,
        }))
    }

    /// The live job that holds a unique key.
    pub(crate) fn holder(&self, key: &str) -> TxResult<Option<JobMeta>> {
        let condition = "queue = ?1 AND unique_key = ?2 AND state < 3";
        JobMeta::first(self.db, condition, params![self.queue.key, key])
    }

    /// Inserts the row. Returns false if the id exists.
    fn insert(
        &mut self,
        new: &NewJob,
        state: JobState,
        insert: &mut CachedStatement<'_>,
    ) -> TxResult<bool> {
        let now = self.now.ms();
        let mut retry = new.retry;
        retry.until = retry.until.map(|until| Due::At(until.resolve(self.now)));
        let is_large = new.payload.len() > INLINE_BYTES_MAX;
        let written = insert.execute(params![
            self.queue.key,
            new.id.as_str(),
            state_number(state),
            new.priority.level(),
            self.queue.back + 1,
            now.as_ms(),
            new.due.resolve(self.now).as_ms(),
            new.expires.map(|expires| expires.resolve(self.now).as_ms()),
            new.is_named,
            new.keep_outcome,
            new.kind.as_ref().map(|kind| kind.as_str()),
            new.unique_key.as_ref().map(|key| key.as_str()),
            row::write_policy(&retry),
            new.timeout.map(as_ms),
            row::write_headers(&new.headers),
            new.payload.len(),
            (!is_large).then_some(new.payload.as_ref()),
        ])?;
        if written == 0 {
            return Ok(false);
        }
        self.queue.back += 1;
        if is_large {
            self.db.run(
                "INSERT INTO large_payload (job, bytes) VALUES (?1, ?2)",
                params![self.db.last_insert_rowid(), new.payload.as_ref()],
            )?;
        }
        Ok(true)
    }

    /// Whether no scheduled job is due before `due_at`.
    pub(crate) fn is_next_due(&self, due_at: u64) -> TxResult<bool> {
        let first = read::next_due(self.db, self.queue.key)?;
        Ok(first.is_none_or(|first| due_at <= first))
    }
}
