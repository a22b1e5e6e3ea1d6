//! enqueue: deduplicates by id and by unique key; `amend` changes the job that has them.

use rusqlite::{CachedStatement, params};
use windlass_core::store::{DurabilityLevel, Requeue};
use windlass_core::time::as_ms;
use windlass_core::{Enqueued, JobId, JobState, NewJob};

use crate::error::{TxError, TxResult};
use crate::lane::{self, NO_HOLDER};
use crate::read;
use crate::row::{self, INLINE_BYTES_MAX, JobMeta, NAMED_BY_SCHEDULE, state_number};
use crate::sql::Sql;
use crate::tombstone::Remembered;
use crate::transaction::QueueTx;

/// Inserts a new job unless its id exists.
const INSERT: &str = "INSERT INTO job (queue, id, state, priority, position, attempt, expiries, \
    created_at, due_at, expires_at, is_named, keep_outcome, cancel_requested, kind, \
    unique_key, retry, timeout_ms, headers, payload_bytes, payload, unique_for_ms, lane, group_name) \
    VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14, ?15, \
    ?16, ?17, ?18, ?19, ?20) \
    ON CONFLICT (queue, id) DO NOTHING";

/// What has the id or the unique key of a new job.
#[derive(Debug)]
pub(crate) enum Existing {
    Job(Box<JobMeta>),
    /// The reply that a tombstone remembers.
    Remembered(Enqueued),
}

impl Existing {
    /// The reply to an enqueue that changes nothing.
    pub(crate) fn reply(self, level: DurabilityLevel) -> Enqueued {
        match self {
            Self::Job(job) => Enqueued::Duplicate {
                id: job.id,
                state: job.state,
                level,
            },
            Self::Remembered(mut reply) => {
                *reply.level_mut() = level;
                reply
            }
        }
    }
}

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
        let enqueued = enqueued.collect::<TxResult<_>>()?;
        // Amendments are remembered. Producers alone must not exceed the limit.
        self.prune_tombstones(self.kept * 2)?;
        Ok(enqueued)
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
        self.drop_tombstone(Remembered::Id(&new.id))?;
        if let Some(key) = &new.unique_key {
            self.drop_tombstone(Remembered::Key(key.as_str()))?;
        }
        let counters = &mut self.queue.counters;
        counters.enter(state, new.priority);
        counters.resize(0, new.payload.len() as u64);
        counters.total.enqueued += 1;
        counters.enqueued.add(self.now.ms(), 1);
        if let Some(group) = &new.group
            && state == JobState::Ready
        {
            self.enter_line(group, new.priority.level(), false, Requeue::Back)?;
        }
        self.announce(&new.id, state);
        let due_at = new.due.resolve(self.now).as_ms();
        if state == JobState::Scheduled && self.is_next_due(due_at)? {
            self.announce_work();
        }
        self.changed();
        Ok(true)
    }

    /// The reply if the id of `new` or, failing that, its unique key is in use or remembered. It may change the
    /// waiting job that has it.
    fn duplicate(&mut self, new: &NewJob, level: DurabilityLevel) -> TxResult<Option<Enqueued>> {
        let Some(existing) = self.existing(new)? else {
            return Ok(None);
        };
        if let Existing::Job(job) = &existing
            && let Some(reply) = self.amend(job, new, level)?
        {
            return Ok(Some(reply));
        }
        let reply = existing.reply(level);
        // The caller wants to wait for the existing job, so its outcome must be kept. A job that ended with
        // the id of the call has none to keep.
        let is_ended = reply.state().is_final() && *reply.id() == new.id;
        if new.keep_outcome && !is_ended {
            self.keep_outcome_of(reply.id())?;
        }
        Ok(Some(reply))
    }

    /// Makes an unfinished job keep its outcome.
    pub(crate) fn keep_outcome_of(&mut self, id: &JobId) -> TxResult<()> {
        let sql = "UPDATE job SET keep_outcome = 1
                   WHERE queue = ?1 AND id = ?2 AND keep_outcome = 0 AND state < 3";
        if self.db.run(sql, params![self.queue.key, id.as_str()])? > 0 {
            self.changed();
        }
        Ok(())
    }

    /// What has the id of `new` or, failing that, its unique key.
    pub(crate) fn existing(&self, new: &NewJob) -> TxResult<Option<Existing>> {
        if let Some(job) = self.find(&new.id)? {
            return Ok(Some(Existing::Job(Box::new(job))));
        }
        if let Some(reply) = self.remembered(Remembered::Id(&new.id))? {
            return Ok(Some(Existing::Remembered(reply)));
        }
        let Some(key) = &new.unique_key else {
            return Ok(None);
        };
        if let Some(job) = self.holder(key.as_str())? {
            return Ok(Some(Existing::Job(Box::new(job))));
        }
        let held = self.remembered(Remembered::Key(key.as_str()))?;
        Ok(held.map(Existing::Remembered))
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
        let is_large = new.payload.len() > INLINE_BYTES_MAX;
        let lane = if new.group.is_some() && self.queue.settings.group_slot.is_lane() {
            NO_HOLDER
        } else {
            lane::lane_of(new.priority, 0)
        };
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
            row::write_policy(&new.retry.resolve(self.now)),
            new.timeout.map(as_ms),
            row::write_headers(&new.headers),
            new.payload.len(),
            (!is_large).then_some(new.payload.as_ref()),
            row::write_hold(new.unique_until, new.unique_for),
            lane,
            new.group.as_ref().map(|group| group.as_str()),
        ])?;
        if written == 0 {
            return Ok(false);
        }
        self.queue.back += 1;
        if is_large {
            self.add_large_payload(self.db.last_insert_rowid(), &new.payload)?;
        }
        Ok(true)
    }

    /// Whether no scheduled job is due before `due_at`.
    pub(crate) fn is_next_due(&self, due_at: u64) -> TxResult<bool> {
        let first = read::next_due(self.db, self.queue.key)?;
        Ok(first.is_none_or(|first| due_at <= first))
    }
}
