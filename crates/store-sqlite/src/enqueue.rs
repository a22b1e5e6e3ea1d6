//! enqueue: deduplicates by id and by unique key.

use rusqlite::{CachedStatement, OptionalExtension, params};
use windlass_core::time::as_ms;
use windlass_core::{Due, DurabilityLevel, Enqueued, JobState, NewJob};

use crate::error::{TxError, TxResult};
use crate::row::{self, INLINE_BYTES_MAX, JobMeta, select_meta, state_number};
use crate::transaction::QueueTx;

/// What a duplicate was found as.
#[derive(Debug)]
enum Existing {
    Stored(JobMeta),
    /// A tombstone with the job's final state.
    Tombstone(JobState),
}

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
            && let Some(existing) = self.existing(new)?
        {
            return self.duplicate(existing, new, level);
        }
        let now = self.now.ms();
        let due_at = new.due.resolve(self.now);
        let state = if due_at <= now {
            JobState::Ready
        } else {
            JobState::Scheduled
        };
        if !self.insert(new, state, insert)? {
            let existing = self.existing(new)?;
            let hidden = || TxError::Damaged(format!("cannot read job {}", new.id));
            let existing = existing.ok_or_else(hidden)?;
            return self.duplicate(existing, new, level);
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

    /// The existing job that `new` duplicates: by id, then by unique key.
    fn existing(&self, new: &NewJob) -> TxResult<Option<Existing>> {
        if let Some(job) = JobMeta::find(self.db, self.queue.key, new.id.as_str())? {
            return Ok(Some(Existing::Stored(job)));
        }
        if let Some(state) = self.tombstone_state(&new.id)? {
            return Ok(Some(Existing::Tombstone(state)));
        }
        let Some(key) = &new.unique_key else {
            return Ok(None);
        };
        Ok(self.holder(key.as_str())?.map(Existing::Stored))
    }

    fn duplicate(
        &mut self,
        existing: Existing,
        new: &NewJob,
        level: DurabilityLevel,
    ) -> TxResult<Enqueued> {
        let job = match existing {
            Existing::Tombstone(state) => {
                return Ok(Enqueued::Duplicate {
                    id: new.id.clone(),
                    state,
                    level,
                });
            }
            Existing::Stored(job) => job,
        };
        // The caller wants to wait for the existing job, so its outcome must be kept.
        if new.keep_outcome && !job.keep_outcome && !job.state.is_final() {
            self.db
                .prepare_cached("UPDATE job SET keep_outcome = 1 WHERE key = ?1")?
                .execute([job.key])?;
            self.changed();
        }
        Ok(Enqueued::Duplicate {
            id: job.id,
            state: job.state,
            level,
        })
    }

    /// The live job that holds a unique key.
    pub(crate) fn holder(&self, key: &str) -> TxResult<Option<JobMeta>> {
        let holder = select_meta!("queue = ?1 AND unique_key = ?2 AND state < 3");
        Ok(JobMeta::select(self.db, holder, params![self.queue.key, key])?.pop())
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
            self.db
                .prepare_cached("INSERT INTO large_payload (job, bytes) VALUES (?1, ?2)")?
                .execute(params![self.db.last_insert_rowid(), new.payload.as_ref()])?;
        }
        Ok(true)
    }

    /// Whether no scheduled job is due before `due_at`.
    pub(crate) fn is_next_due(&self, due_at: u64) -> TxResult<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT due_at FROM job WHERE queue = ?1 AND state = 0 ORDER BY due_at, id LIMIT 1",
        )?;
        let first: Option<u64> = statement
            .query_row([self.queue.key], |row| row.get(0))
            .optional()?;
        Ok(first.is_none_or(|first| due_at <= first))
    }
}
