//! enqueue: deduplicates by id and by unique key.

use rusqlite::{CachedStatement, params};
use windlass_core::store::DurabilityLevel;
use windlass_core::time::as_ms;
use windlass_core::{Due, Enqueued, JobId, JobState, NewJob};

use crate::error::{TxError, TxResult};
use crate::read;
use crate::row::{self, INLINE_BYTES_MAX, JobMeta, NAMED_BY_SCHEDULE, state_number};
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
        let state = self.state_when_due(new);
        if !self.add(new, state, new.is_named.into(), insert)? {
            let hidden = || TxError::Damaged(format!("cannot read job {}", new.id));
            return self.duplicate(new, level)?.ok_or_else(hidden);
        }
        Ok(Enqueued::Accepted {
            id: new.id.clone(),
            state,
            level,
        })
    }

    /// The state of a new job that waits for nothing but its due time.
    pub(crate) fn state_when_due(&self, new: &NewJob) -> JobState {
        if new.due.resolve(self.now) <= self.now.ms() {
            JobState::Ready
        } else {
            JobState::Scheduled
        }
    }

    /// Adds a job of a schedule.
    pub(crate) fn add_scheduled(&mut self, new: &NewJob, state: JobState) -> TxResult<()> {
        let mut insert = self.db.prepare_cached(INSERT)?;
        if self.add(new, state, NAMED_BY_SCHEDULE, &mut insert)? {
            return Ok(());
        }
        Err(TxError::Damaged(format!("cannot read job {}", new.id)))
    }

    /// Adds a job; `named` says who chose its id. Returns false if the id exists.
    fn add(
        &mut self,
        new: &NewJob,
        state: JobState,
        named: i64,
        insert: &mut CachedStatement<'_>,
    ) -> TxResult<bool> {
        if !self.insert(new, state, named, insert)? {
            return Ok(false);
        }
        self.drop_tombstone(&new.id)?;
        let counters = &mut self.queue.counters;
        counters.enter(state, new.priority);
        counters.resize(0, new.payload.len() as u64);
        counters.total.enqueued += 1;
        counters.enqueued.add(self.now.ms(), 1);
        self.announce(&new.id, state);
        let due_at = new.due.resolve(self.now).as_ms();
        if state == JobState::Scheduled && self.is_next_due(due_at)? {
            self.announce_work();
        }
        self.changed();
        Ok(true)
    }

    /// The reply if `new` duplicates an existing job: by id, then by unique key.
    fn duplicate(&mut self, new: &NewJob, level: DurabilityLevel) -> TxResult<Option<Enqueued>> {
        let Some((id, state)) = self.existing(new)? else {
            return Ok(None);
        };
        // The caller wants to wait for the existing job, so its outcome must be kept.
        if new.keep_outcome && !state.is_final() {
            let sql = "UPDATE job SET keep_outcome = 1
                       WHERE queue = ?1 AND id = ?2 AND keep_outcome = 0";
            if self.db.run(sql, params![self.queue.key, id.as_str()])? > 0 {
                self.changed();
            }
        }
        Ok(Some(Enqueued::Duplicate { id, state, level }))
    }

    /// The job that `new` duplicates: by id, then by unique key.
    pub(crate) fn existing(&self, new: &NewJob) -> TxResult<Option<(JobId, JobState)>> {
        if let Some(job) = self.find(&new.id)? {
            return Ok(Some((job.id, job.state)));
        }
        if let Some(state) = self.tombstone_state(&new.id)? {
            return Ok(Some((new.id.clone(), state)));
        }
        let Some(key) = &new.unique_key else {
            return Ok(None);
        };
        let holder = self.holder(key.as_str())?;
        Ok(holder.map(|job| (job.id, job.state)))
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
        named: i64,
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
            named,
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
