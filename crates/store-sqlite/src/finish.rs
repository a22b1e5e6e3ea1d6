//! How jobs end, what is kept of them, and for how long.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use windlass_core::limits::CLAIM_TOMBSTONE;
use windlass_core::time::as_ms;
use windlass_core::{Bytes, JobId, JobLease, JobState, Keep, KeepSucceeded, Priority, Reason};

use crate::fault::Db;
use crate::hold::WIPED;
use crate::row::{Brief, job_id, priority_of, select_brief, sql_number, state_number, state_of};
use crate::step::Step;

/// What an ended job leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Ending<'a> {
    pub(crate) result: Option<&'a Bytes>,
    pub(crate) error: Option<&'a str>,
    pub(crate) reason: Option<Reason>,
}

/// The statements of most completions, at hand for a whole batch. Two statements and not one delete
/// that returns what it deleted: SQLite makes a temporary table for that, once a job.
pub(crate) struct Unkept<'a> {
    find: CachedStatement<'a>,
    delete: CachedStatement<'a>,
}

impl<'a> Unkept<'a> {
    pub(crate) fn prepare(db: &'a Connection) -> Db<Self> {
        Ok(Self {
            find: db.prepare_cached(
                "SELECT key, priority, is_named, payload IS NULL,
                     payload_bytes + ifnull(octet_length(error), 0)
                 FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3
                     AND token_nonce = ?4 AND NOT (keep_outcome AND ?5)",
            )?,
            delete: db.prepare_cached("DELETE FROM job WHERE key = ?1")?,
        })
    }
}

impl Step<'_> {
    /// Ends a job well. Without a result it is not kept, unless somebody waits or all are kept.
    pub(crate) fn succeed(&mut self, job: &Brief, result: Option<&Bytes>) -> Db<()> {
        let is_kept = match self.queue.settings.keep_succeeded {
            KeepSucceeded::WithResult => result.is_some() || job.keep_outcome,
            KeepSucceeded::All => true,
            KeepSucceeded::Nothing => false,
        };
        self.queue.figures.total.succeeded += 1;
        let ending = Ending {
            result,
            ..Ending::default()
        };
        self.end_as(job, JobState::Succeeded, is_kept, &ending)
    }

    /// Ends a held job that leaves nothing to keep, as most do. False when the token does not hold
    /// it, or something of it must be kept.
    pub(crate) fn succeed_unkept(&mut self, hold: &JobLease, unkept: &mut Unkept<'_>) -> Db<bool> {
        let keeps_awaited = match self.queue.settings.keep_succeeded {
            KeepSucceeded::WithResult => true,
            KeepSucceeded::Nothing => false,
            KeepSucceeded::All => return Ok(false),
        };
        let JobLease { id, token } = hold;
        let number = sql_number(*token);
        let params = params![
            self.queue.key,
            id.as_str(),
            number,
            token.nonce,
            keeps_awaited
        ];
        let mut rows = unkept.find.query(params)?;
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        let (key, is_named, is_large): (i64, bool, bool) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let priority = priority_of(row.get(1)?)?;
        self.queue.figures.resize(row.get(4)?, 0);
        unkept.delete.execute([key])?;
        if is_large {
            self.drop_large_payload(key)?;
        }
        self.queue.figures.total.succeeded += 1;
        self.left_claim(*token);
        self.note_end(id, JobState::Running, priority, JobState::Succeeded);
        if is_named && self.remember_id(id, JobState::Succeeded)? {
            self.kept += 1;
        }
        Ok(true)
    }

    /// Ends a job badly.
    pub(crate) fn bury(&mut self, job: &Brief, reason: Reason, error: Option<&str>) -> Db<()> {
        self.queue.figures.total.dead += 1;
        let ending = Ending {
            error,
            reason: Some(reason),
            result: None,
        };
        self.end_as(job, JobState::Dead, true, &ending)
    }

    /// Ends a job on request.
    pub(crate) fn end_cancelled(&mut self, job: &Brief) -> Db<()> {
        self.queue.figures.total.cancelled += 1;
        self.end_as(job, JobState::Cancelled, true, &Ending::default())
    }

    fn end_as(&mut self, job: &Brief, state: JobState, is_kept: bool, end: &Ending<'_>) -> Db<()> {
        self.note_end(&job.id, job.state, job.priority, state);
        let is_remembered = job.is_named && self.remember_id(&job.id, state)?;
        if is_kept {
            self.keep(job, state, end)?;
        } else {
            self.queue.figures.resize(job.bytes(), 0);
            self.remove(job)?;
        }
        self.kept += usize::from(is_kept || is_remembered);
        Ok(())
    }

    /// Counts and announces that a job has ended.
    fn note_end(&mut self, id: &JobId, from: JobState, priority: Priority, to: JobState) {
        self.changed();
        self.announce(id, to);
        let figures = &mut self.queue.figures;
        figures.went(from, priority);
        figures.ended.add(self.now.ms(), 1);
    }

    fn keep(&mut self, job: &Brief, state: JobState, end: &Ending<'_>) -> Db<()> {
        self.db
            .prepare_cached(&format!(
                "UPDATE job SET state = ?2, finished_at = ?3, expiries = ?4, reason = ?5,
                                error = ifnull(?6, error), result = ?7, {WIPED}
                 WHERE key = ?1"
            ))?
            .execute(params![
                job.key,
                state_number(state),
                self.now_ms(),
                job.expiries,
                end.reason.map(Reason::as_str),
                end.error,
                end.result.map(Bytes::as_ref),
            ])?;
        let error_bytes = end
            .error
            .map_or(job.error_bytes, |error| error.len() as u64);
        let bytes = job.payload_bytes + error_bytes + end.result.map_or(0, Bytes::len) as u64;
        let figures = &mut self.queue.figures;
        figures.resize(job.bytes(), bytes);
        figures.keep(state, bytes);
        Ok(())
    }

    /// Deletes a job's row.
    pub(crate) fn remove(&mut self, job: &Brief) -> Db<()> {
        self.changed();
        self.db
            .prepare_cached("DELETE FROM job WHERE key = ?1")?
            .execute([job.key])?;
        if job.is_large {
            self.drop_large_payload(job.key)?;
        }
        Ok(())
    }

    pub(crate) fn drop_large_payload(&mut self, key: i64) -> Db<()> {
        self.db
            .prepare_cached("DELETE FROM large_payload WHERE job = ?1")?
            .execute([key])?;
        Ok(())
    }

    /// Takes a finished job out of the figures of what is kept.
    pub(crate) fn uncount(&mut self, job: &Brief) {
        self.queue.figures.unkeep(job.state, job.bytes());
    }

    /// Drops a finished job.
    pub(crate) fn forget(&mut self, job: &Brief) -> Db<()> {
        self.uncount(job);
        self.queue.figures.resize(job.bytes(), 0);
        self.remove(job)
    }

    /// Remembers the id that a caller chose; false when the queue remembers none.
    fn remember_id(&mut self, id: &JobId, state: JobState) -> Db<bool> {
        if self.queue.settings.dedup_for.is_zero() {
            return Ok(false);
        }
        self.forget_id(id)?;
        self.db
            .prepare_cached(
                "INSERT INTO tombstone (queue, id, state, until) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                self.queue.key,
                id.as_str(),
                state_number(state),
                self.now.ms().plus(self.queue.settings.dedup_for).as_ms(),
            ])?;
        self.queue.figures.tombstones += 1;
        Ok(true)
    }

    /// The final state of a job whose id is still remembered.
    pub(crate) fn remembered(&self, id: &JobId) -> Db<Option<JobState>> {
        if self.queue.figures.tombstones == 0 {
            return Ok(None);
        }
        let mut statement = self.db.prepare_cached(
            "SELECT state FROM tombstone WHERE queue = ?1 AND id = ?2 AND until > ?3",
        )?;
        let params = params![self.queue.key, id.as_str(), self.now_ms()];
        let state = statement.query_row(params, |row| row.get(0)).optional()?;
        state.map(state_of).transpose()
    }

    /// Forgets that an id was ever used.
    pub(crate) fn forget_id(&mut self, id: &JobId) -> Db<()> {
        if self.queue.figures.tombstones == 0 {
            return Ok(());
        }
        let dropped = self
            .db
            .prepare_cached("DELETE FROM tombstone WHERE queue = ?1 AND id = ?2")?
            .execute(params![self.queue.key, id.as_str()])?;
        let figures = &mut self.queue.figures;
        figures.tombstones = figures.tombstones.saturating_sub(dropped as u64);
        Ok(())
    }

    /// After a step that ended jobs: twice as much is pruned as was kept, so that kept jobs stay
    /// within their bounds with no maintenance at all.
    pub(crate) fn prune_step(&mut self) -> Db<()> {
        self.prune(self.kept * 2).map(drop)
    }

    /// Drops up to `limit` finished jobs and tombstones that are beyond their bounds; answers how
    /// many jobs it dropped, and how many ids and claims it forgot.
    pub(crate) fn prune(&mut self, limit: usize) -> Db<(u64, u64)> {
        let mut pruned = 0;
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            while pruned < limit
                && let Some(job) = self.oldest_beyond(state)?
            {
                self.forget(&job)?;
                pruned += 1;
            }
        }
        let mut forgotten = 0;
        while pruned + forgotten < limit
            && let Some(id) = self.oldest_tombstone_beyond()?
        {
            self.forget_id(&id)?;
            self.changed();
            forgotten += 1;
        }
        forgotten += self.prune_claims(limit - pruned - forgotten)?;
        Ok((pruned as u64, forgotten as u64))
    }

    /// The finished job of a state that must go first, if one must.
    fn oldest_beyond(&mut self, state: JobState) -> Db<Option<Brief>> {
        let settings = &self.queue.settings;
        let keep: Keep = match state {
            JobState::Succeeded => settings.succeeded,
            JobState::Dead => settings.dead,
            _ => settings.cancelled,
        };
        let kept = *self.queue.figures.kept(state);
        if kept.count == 0 {
            return Ok(None);
        }
        let is_beyond = keep.count.is_some_and(|count| kept.count > count)
            || keep.bytes.is_some_and(|bytes| kept.bytes > bytes);
        let ended_by = match (is_beyond, keep.age) {
            (true, _) => i64::MAX.cast_unsigned(),
            (false, Some(age)) => match self.now_ms().checked_sub(as_ms(age)) {
                Some(moment) => moment,
                None => return Ok(None),
            },
            (false, None) => return Ok(None),
        };
        let oldest = select_brief!(
            "queue = ?1 AND state = ?2 AND finished_at <= ?3
             ORDER BY finished_at, id LIMIT 1"
        );
        let params = params![self.queue.key, state_number(state), ended_by];
        Ok(Brief::select(self.db, oldest, params)?.pop())
    }

    fn oldest_tombstone_beyond(&self) -> Db<Option<JobId>> {
        if self.queue.figures.tombstones == 0 {
            return Ok(None);
        }
        let is_over = self.queue.figures.tombstones > self.queue.settings.dedup_max;
        // The first alone decides: a condition here would look at all of them when none fits.
        let mut statement = self.db.prepare_cached(
            "SELECT id, until FROM tombstone WHERE queue = ?1 ORDER BY until, id LIMIT 1",
        )?;
        let first: Option<(String, u64)> = statement
            .query_row([self.queue.key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let first = first.filter(|(_, until)| is_over || *until <= self.now_ms());
        first.map(|(id, _)| job_id(&id)).transpose()
    }

    /// Forgets claims that finished long ago.
    fn prune_claims(&mut self, limit: usize) -> Db<usize> {
        let Some(ended_by) = self.now_ms().checked_sub(as_ms(CLAIM_TOMBSTONE)) else {
            return Ok(0);
        };
        let mut statement = self.db.prepare_cached(
            "SELECT number FROM claim WHERE queue = ?1 AND finished_at <= ?2
             ORDER BY finished_at, number LIMIT ?3",
        )?;
        let rows =
            statement.query_map(params![self.queue.key, ended_by, limit], |row| row.get(0))?;
        let numbers: Vec<u64> = rows.collect::<Result<_, _>>()?;
        for number in &numbers {
            for table in ["claim", "claim_ids", "departure"] {
                let sql = format!("DELETE FROM {table} WHERE queue = ?1 AND number = ?2");
                self.db
                    .prepare_cached(&sql)?
                    .execute(params![self.queue.key, number])?;
            }
            self.changed();
        }
        Ok(numbers.len())
    }
}
