//! Tombstones: ids and unique keys that stay in use after their job ended, and the ids of enqueues that
//! changed another job.

use std::borrow::Cow;

use rusqlite::{Connection, Params, Row, params};
use windlass_core::duplicate::key_held_until;
use windlass_core::limits::AMENDMENT_TOMBSTONE;
use windlass_core::store::DurabilityLevel;
use windlass_core::{Enqueued, JobId, JobState, NewJob, Timestamp};

use crate::error::{TxError, TxResult};
use crate::row::{JobMeta, job_id, state_number, state_of, unique_key};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Precedes a unique key in the column `id`. No id contains it, and it sorts before all of them: of
/// tombstones that expire together, those of keys are pruned first.
pub(crate) const KEY_MARK: char = '\n';

/// Follows all marked keys.
pub(crate) const AFTER_KEYS: char = '\u{b}';

/// The stored replies of amendments.
const REPLACED: &str = "replaced";
const POSTPONED: &str = "postponed";

/// What a tombstone remembers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Remembered<'a> {
    /// A unique key that is held after its job ended.
    Key(&'a str),
    /// The id of an ended job, or of an enqueue that replaced or postponed another job.
    Id(&'a JobId),
}

impl<'a> Remembered<'a> {
    /// The value of the column `id`.
    fn stored(self) -> Cow<'a, str> {
        match self {
            Self::Key(key) => format!("{KEY_MARK}{key}").into(),
            Self::Id(id) => id.as_str().into(),
        }
    }
}

/// A row of the table `tombstone`.
#[derive(Debug)]
pub(crate) struct Tombstone {
    /// The id, or the marked key.
    pub(crate) name: String,
    /// The reply to an enqueue with this id or key; its durability is not stored. An error if the row is damaged.
    pub(crate) reply: TxResult<Enqueued>,
    #[cfg_attr(
        not(feature = "dump"),
        expect(dead_code, reason = "only dumps show it")
    )]
    pub(crate) until: Timestamp,
}

impl Tombstone {
    /// The tombstones that meet a condition, in its order.
    pub(crate) fn select(
        db: &Connection,
        condition: &str,
        params: impl Params,
    ) -> TxResult<Vec<Self>> {
        let sql = format!("SELECT id, state, until, job, reply FROM tombstone WHERE {condition}");
        db.rows(&sql, params, |row| {
            let name: String = row.get(0)?;
            let until = Timestamp::from_ms(row.get::<_, u64>(2).unwrap_or_default());
            let reply = read_reply(row, &name);
            Ok(Self { name, reply, until })
        })
    }

    /// The key, if it is one of a key.
    pub(crate) fn key(&self) -> Option<&str> {
        self.name.strip_prefix(KEY_MARK)
    }

    /// Whether its name is an id or a key, and its reply can be read.
    pub(crate) fn is_readable(&self) -> bool {
        let is_named = match self.key() {
            Some(key) => {
                unique_key(key).is_ok() && matches!(self.reply, Ok(Enqueued::Duplicate { .. }))
            }
            None => job_id(&self.name).is_ok(),
        };
        is_named && self.reply.is_ok()
    }
}

fn read_reply(row: &Row<'_>, name: &str) -> TxResult<Enqueued> {
    let job: Option<String> = row.get(3)?;
    let id = job_id(job.as_deref().unwrap_or(name))?;
    let (state, level) = (state_of(row.get(1)?)?, DurabilityLevel::Memory);
    let (reply, _until): (Option<String>, u64) = (row.get(4)?, row.get(2)?);
    match reply.as_deref() {
        None if state.is_final() => Ok(Enqueued::Duplicate { id, state, level }),
        Some(REPLACED) if state.is_waiting() => Ok(Enqueued::Replaced { id, state, level }),
        Some(POSTPONED) if state.is_waiting() => Ok(Enqueued::Postponed { id, state, level }),
        reply => Err(TxError::corrupt("tombstone", (reply, state))),
    }
}

impl QueueTx<'_> {
    /// Remembers the id of an ended job that a caller chose. Returns false if `dedup_for` is zero.
    pub(crate) fn remember_end(&mut self, id: &JobId, state: JobState) -> TxResult<bool> {
        let dedup_for = self.queue.settings.dedup_for;
        if dedup_for.is_zero() {
            return Ok(false);
        }
        let until = self.now.ms().plus(dedup_for);
        self.remember(Remembered::Id(id), state, until, None, None)?;
        Ok(true)
    }

    /// Holds the key of a job that ends now in `state`, if its time has not passed. Returns whether it does.
    pub(crate) fn hold_key(&mut self, job: &JobMeta, state: JobState) -> TxResult<bool> {
        let now = self.now.ms();
        let until = key_held_until(job.created_at, job.unique_for, state, now);
        let Some((until, key)) = until.zip(job.unique_key.as_deref()) else {
            return Ok(false);
        };
        self.remember(Remembered::Key(key), state, until, Some(&job.id), None)?;
        Ok(true)
    }

    /// Remembers the reply of a call that changed another job, so that repeating it does not overwrite a
    /// newer one.
    pub(crate) fn remember_amendment(&mut self, new: &NewJob, reply: &Enqueued) -> TxResult<()> {
        let until = self.now.ms().plus(AMENDMENT_TOMBSTONE);
        let (id, state) = (reply.id(), reply.state());
        let how = if new.on_duplicate.replaces() {
            REPLACED
        } else {
            POSTPONED
        };
        self.remember(Remembered::Id(&new.id), state, until, Some(id), Some(how))?;
        self.kept += 1;
        Ok(())
    }

    fn remember(
        &mut self,
        name: Remembered<'_>,
        state: JobState,
        until: Timestamp,
        job: Option<&JobId>,
        reply: Option<&str>,
    ) -> TxResult<()> {
        self.drop_tombstone(name)?;
        self.db.run(
            "INSERT INTO tombstone (queue, id, state, until, job, reply)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.queue.key,
                name.stored(),
                state_number(state),
                until.as_ms(),
                job.map(JobId::as_str),
                reply,
            ],
        )?;
        let counters = &mut self.queue.counters;
        counters.tombstones += 1;
        counters.held_keys += u64::from(matches!(name, Remembered::Key(_)));
        Ok(())
    }

    /// Whether there may be a tombstone. The counters answer without a statement.
    fn may_remember(&self, name: Remembered<'_>) -> bool {
        let counters = &self.queue.counters;
        match name {
            Remembered::Key(_) => counters.held_keys > 0,
            Remembered::Id(_) => counters.tombstones > 0,
        }
    }

    /// The reply that a tombstone remembers. An expired one may not be pruned yet.
    pub(crate) fn remembered(&self, name: Remembered<'_>) -> TxResult<Option<Enqueued>> {
        if !self.may_remember(name) {
            return Ok(None);
        }
        let condition = "queue = ?1 AND id = ?2 AND until > ?3";
        let params = params![self.queue.key, name.stored(), self.now_ms()];
        let mut found = Tombstone::select(self.db, condition, params)?;
        found.pop().map(|tombstone| tombstone.reply).transpose()
    }

    /// The job that holds a unique key: an unfinished one, or an ended one if the key is still held.
    pub(crate) fn key_holder(&self, key: &str) -> TxResult<Option<JobId>> {
        if let Some(job) = self.holder(key)? {
            return Ok(Some(job.id));
        }
        let held = self.remembered(Remembered::Key(key))?;
        Ok(held.map(|reply| reply.id().clone()))
    }

    /// Deletes a tombstone, if there is one.
    pub(crate) fn drop_tombstone(&mut self, name: Remembered<'_>) -> TxResult<()> {
        if self.may_remember(name) {
            self.drop_stored_tombstone(&name.stored())?;
        }
        Ok(())
    }

    /// Deletes the tombstone with this value in the column `id`, if there is one.
    pub(crate) fn drop_stored_tombstone(&mut self, name: &str) -> TxResult<()> {
        let sql = "DELETE FROM tombstone WHERE queue = ?1 AND id = ?2";
        let dropped = self.db.run(sql, params![self.queue.key, name])? as u64;
        let counters = &mut self.queue.counters;
        counters.tombstones = counters.tombstones.saturating_sub(dropped);
        if name.starts_with(KEY_MARK) {
            counters.held_keys = counters.held_keys.saturating_sub(dropped);
        }
        Ok(())
    }

    /// Deletes up to `limit` tombstones that expired or exceed their limit. Returns how many.
    pub(crate) fn prune_tombstones(&mut self, limit: usize) -> TxResult<usize> {
        let mut forgotten = 0;
        while forgotten < limit
            && let Some(name) = self.oldest_prunable_tombstone()?
        {
            self.drop_stored_tombstone(&name)?;
            self.changed();
            forgotten += 1;
        }
        Ok(forgotten)
    }

    fn oldest_prunable_tombstone(&self) -> TxResult<Option<String>> {
        if self.queue.counters.tombstones == 0 {
            return Ok(None);
        }
        let is_over = self.queue.counters.tombstones > self.queue.settings.dedup_max;
        // Only the first is read: with a condition, SQLite would scan them all when none matches.
        let first = self.db.first(
            "SELECT id, until FROM tombstone WHERE queue = ?1 ORDER BY until, id LIMIT 1",
            [self.queue.key],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?)),
        )?;
        let first = first.filter(|(_, until)| is_over || *until <= self.now_ms());
        Ok(first.map(|(name, _)| name))
    }
}
