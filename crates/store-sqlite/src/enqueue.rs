//! enqueue: the same id is the same job, and a unique key has one holder.

use rusqlite::{CachedStatement, OptionalExtension, params};
use windlass_core::time::as_ms;
use windlass_core::{Due, DurabilityLevel, Enqueued, JobState, NewJob};

use crate::fault::{Db, Fault};
use crate::row::{self, Brief, INLINE_BYTES_MAX, select_brief, state_number};
use crate::step::Step;

/// What stands in the way of a new job.
#[derive(Debug)]
enum First {
    Stored(Brief),
    /// Its id is remembered, and how it ended.
    Remembered(JobState),
}

/// Writes a new job, unless its id is already here.
const INSERT: &str = "INSERT INTO job (queue, id, state, priority, lane, position, attempt, expiries, \
    created_at, due_at, expires_at, is_named, keep_outcome, cancel_requested, kind, \
    unique_key, retry, timeout_ms, headers, payload_bytes, payload) \
    VALUES (?1, ?2, ?3, ?4, 1, ?5, 1, 0, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14, ?15, \
    ?16, ?17) \
    ON CONFLICT (queue, id) DO NOTHING";

impl Step<'_> {
    pub(crate) fn enqueue(&mut self, jobs: &[NewJob], level: DurabilityLevel) -> Db<Vec<Enqueued>> {
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
    ) -> Db<Enqueued> {
        // Without a key or remembered ids the insert itself finds a duplicate.
        if (new.unique_key.is_some() || self.queue.figures.tombstones > 0)
            && let Some(first) = self.first_of(new)?
        {
            return self.duplicate(first, new, level);
        }
        let now = self.now.ms();
        let due_at = new.due.resolve(now);
        let state = if due_at <= now {
            JobState::Ready
        } else {
            JobState::Scheduled
        };
        if !self.insert(new, state, insert)? {
            let first = self.first_of(new)?;
            let first = first.ok_or_else(|| Fault::Damaged(format!("job {} is hidden", new.id)))?;
            return self.duplicate(first, new, level);
        }
        self.forget_id(&new.id)?;
        let figures = &mut self.queue.figures;
        figures.came(state, new.priority);
        figures.resize(0, new.payload.len() as u64);
        figures.total.enqueued += 1;
        figures.enqueued.add(now, 1);
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

    /// The job that was there first, if there is one: by id, then by unique key.
    fn first_of(&self, new: &NewJob) -> Db<Option<First>> {
        if let Some(job) = Brief::find(self.db, self.queue.key, new.id.as_str())? {
            return Ok(Some(First::Stored(job)));
        }
        if let Some(state) = self.remembered(&new.id)? {
            return Ok(Some(First::Remembered(state)));
        }
        let Some(key) = &new.unique_key else {
            return Ok(None);
        };
        Ok(self.holder(key.as_str())?.map(First::Stored))
    }

    fn duplicate(&mut self, first: First, new: &NewJob, level: DurabilityLevel) -> Db<Enqueued> {
        let job = match first {
            First::Remembered(state) => {
                return Ok(Enqueued::Duplicate {
                    id: new.id.clone(),
                    state,
                    level,
                });
            }
            First::Stored(job) => job,
        };
        // Somebody waits for a job that was there before: its outcome will be kept.
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
    pub(crate) fn holder(&self, key: &str) -> Db<Option<Brief>> {
        let holder = select_brief!("queue = ?1 AND unique_key = ?2 AND state < 3");
        Ok(Brief::select(self.db, holder, params![self.queue.key, key])?.pop())
    }

    /// Writes the row; false when the id is already here.
    fn insert(
        &mut self,
        new: &NewJob,
        state: JobState,
        insert: &mut CachedStatement<'_>,
    ) -> Db<bool> {
        let now = self.now.ms();
        let mut retry = new.retry;
        retry.until = retry.until.map(|until| Due::At(until.resolve(now)));
        let is_large = new.payload.len() > INLINE_BYTES_MAX;
        let written = insert.execute(params![
            self.queue.key,
            new.id.as_str(),
            state_number(state),
            new.priority.level(),
            self.queue.back + 1,
            now.as_ms(),
            new.due.resolve(now).as_ms(),
            new.expires.map(|expires| expires.resolve(now).as_ms()),
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

    /// Whether no scheduled job falls due before this moment.
    pub(crate) fn is_next_due(&self, due_at: u64) -> Db<bool> {
        let mut statement = self.db.prepare_cached(
            "SELECT due_at FROM job WHERE queue = ?1 AND state = 0 ORDER BY due_at, id LIMIT 1",
        )?;
        let first: Option<u64> = statement
            .query_row([self.queue.key], |row| row.get(0))
            .optional()?;
        Ok(first.is_none_or(|first| due_at <= first))
    }
}
