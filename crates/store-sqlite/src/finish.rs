//! Finishes jobs, and prunes finished ones by the queue's retention settings.

use rusqlite::{CachedStatement, Connection, params};
use windlass_core::limits::claims_removed_before;
use windlass_core::store::{KeepSucceeded, Reason};
use windlass_core::time::as_ms;
use windlass_core::{Bytes, JobId, JobLease, JobState, Priority, Timestamp};

use crate::error::TxResult;
use crate::lease::CLEAR_LEASE;
use crate::row::{self, JobMeta, priority_of, sql_number, state_number};
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// The result and reason of a finished job.
#[derive(Debug, Default)]
struct Ending<'a> {
    result: Option<&'a Bytes>,
    reason: Option<Reason>,
}

/// The statements of the completion fast path, prepared once per batch. Two statements instead of
/// one `DELETE … RETURNING`, for which SQLite creates a temporary table per job.
pub(crate) struct FastPath<'a> {
    has_groups: bool,
    find: CachedStatement<'a>,
    delete: CachedStatement<'a>,
}

impl<'a> FastPath<'a> {
    /// Only a queue in which jobs with a group run reads their groups.
    pub(crate) fn prepare(db: &'a Connection, has_groups: bool) -> TxResult<Self> {
        let group = if has_groups { ", group_name" } else { "" };
        Ok(Self {
            has_groups,
            find: db.prepare_cached(&format!(
                "SELECT key, priority, is_named, payload IS NULL,
                     payload_bytes + ifnull(octet_length(error), 0){group}
                 FROM job WHERE queue = ?1 AND id = ?2 AND token_number = ?3
                     AND token_nonce = ?4 AND NOT (keep_outcome AND ?5) AND is_named < 2
                     AND unique_for_ms IS NULL"
            ))?,
            delete: db.prepare_cached("DELETE FROM job WHERE key = ?1")?,
        })
    }
}

impl QueueTx<'_> {
    /// Finishes a job as succeeded. Whether it is kept depends on `keep_succeeded`.
    pub(crate) fn succeed(&mut self, job: &JobMeta, result: Option<&Bytes>) -> TxResult<()> {
        let keep = self.queue.settings.keep_succeeded;
        let is_kept = keep.keeps(result.is_some(), job.keep_outcome);
        self.queue.counters.total.succeeded += 1;
        let ending = Ending {
            result,
            ..Ending::default()
        };
        self.end_as(job, JobState::Succeeded, is_kept, &ending)
    }

    /// The fast path of completion: deletes a leased job of which nothing is kept. Returns false if
    /// the token is not current, the job must be kept, its key stays held, or it has a schedule.
    pub(crate) fn succeed_fast(
        &mut self,
        lease: &JobLease,
        fast_path: &mut FastPath<'_>,
    ) -> TxResult<bool> {
        let keeps_awaited = match self.queue.settings.keep_succeeded {
            KeepSucceeded::WithResult => true,
            KeepSucceeded::Nothing => false,
            KeepSucceeded::All => return Ok(false),
        };
        let JobLease { id, token } = lease;
        let (key, number) = (self.queue.key, sql_number(*token));
        let params = params![key, id.as_str(), number, token.nonce, keeps_awaited];
        let mut rows = fast_path.find.query(params)?;
        let Some(row) = rows.next()? else {
            return Ok(false);
        };
        let (key, is_named, is_large): (i64, bool, bool) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let priority = priority_of(row.get(1)?)?;
        let group = if fast_path.has_groups {
            row::read_group(row, 5)?
        } else {
            None
        };
        self.queue.counters.resize(row.get(4)?, 0);
        fast_path.delete.execute([key])?;
        if is_large {
            self.drop_large_payload(key)?;
        }
        self.queue.counters.total.succeeded += 1;
        self.count_departure(*token);
        if let Some(group) = &group {
            self.leave_group_at_success(group)?;
        }
        self.note_end(id, JobState::Running, priority, JobState::Succeeded);
        if is_named && self.remember_end(id, JobState::Succeeded)? {
            self.kept += 1;
        }
        Ok(true)
    }

    /// Finishes a job as dead.
    pub(crate) fn end_dead(&mut self, job: &JobMeta, reason: Reason) -> TxResult<()> {
        self.queue.counters.total.dead += 1;
        let ending = Ending {
            reason: Some(reason),
            result: None,
        };
        self.end_as(job, JobState::Dead, true, &ending)
    }

    /// Finishes a job as cancelled.
    pub(crate) fn end_cancelled(&mut self, job: &JobMeta) -> TxResult<()> {
        self.queue.counters.total.cancelled += 1;
        self.end_as(job, JobState::Cancelled, true, &Ending::default())
    }

    fn end_as(
        &mut self,
        job: &JobMeta,
        state: JobState,
        is_kept: bool,
        end: &Ending<'_>,
    ) -> TxResult<()> {
        self.note_end(&job.id, job.state, job.priority, state);
        self.leave_group(job, Some(state))?;
        let is_remembered = job.is_named && self.remember_end(&job.id, state)?;
        let is_key_held = self.hold_key(job, state)?;
        if is_kept {
            self.keep(job, state, end)?;
        } else {
            self.remove(job)?;
        }
        self.kept += usize::from(is_kept || is_remembered) + usize::from(is_key_held);
        self.end_in_schedule(job, Some(state))
    }

    /// Updates the counters and notifies watchers of a finished job.
    fn note_end(&mut self, id: &JobId, from: JobState, priority: Priority, to: JobState) {
        self.changed();
        self.announce(id, to);
        let counters = &mut self.queue.counters;
        counters.leave(from, priority);
        counters.ended.add(self.now.ms(), 1);
    }

    fn keep(&mut self, job: &JobMeta, state: JobState, end: &Ending<'_>) -> TxResult<()> {
        self.db.run(
            &format!(
                "UPDATE job SET state = ?2, finished_at = ?3, expiries = ?4, reason = ?5,
                                result = ?6, {CLEAR_LEASE}
                 WHERE key = ?1"
            ),
            params![
                job.key,
                state_number(state),
                self.now_ms(),
                job.expiries,
                end.reason.map(Reason::as_str),
                end.result.map(Bytes::as_ref),
            ],
        )?;
        let bytes = job.payload_bytes + job.error_bytes + end.result.map_or(0, Bytes::len) as u64;
        let counters = &mut self.queue.counters;
        counters.resize(job.bytes(), bytes);
        counters.add_finished(state, bytes);
        Ok(())
    }

    /// Deletes a job's row.
    pub(crate) fn remove(&mut self, job: &JobMeta) -> TxResult<()> {
        self.changed();
        self.queue.counters.resize(job.bytes(), 0);
        self.db.run("DELETE FROM job WHERE key = ?1", [job.key])?;
        if job.is_large {
            self.drop_large_payload(job.key)?;
        }
        Ok(())
    }

    pub(crate) fn add_large_payload(&mut self, key: i64, bytes: &[u8]) -> TxResult<()> {
        let sql = "INSERT INTO large_payload (job, bytes) VALUES (?1, ?2)";
        self.db.run(sql, params![key, bytes])?;
        Ok(())
    }

    pub(crate) fn drop_large_payload(&mut self, key: i64) -> TxResult<()> {
        self.db
            .run("DELETE FROM large_payload WHERE job = ?1", [key])?;
        Ok(())
    }

    /// Deletes a finished job.
    pub(crate) fn delete_finished(&mut self, job: &JobMeta) -> TxResult<()> {
        let counters = &mut self.queue.counters;
        counters.remove_finished(job.state, job.bytes());
        self.leave_group(job, None)?;
        self.remove(job)
    }

    /// Prunes twice as many jobs and ids as this verb added, so that finished jobs stay within their
    /// limits without any maintenance.
    pub(crate) fn prune_after_finish(&mut self) -> TxResult<()> {
        if self.kept == 0 {
            return Ok(());
        }
        self.prune(self.kept * 2).map(drop)
    }

    /// Deletes up to `limit` finished jobs, tombstones and claims that exceed their limits. Returns
    /// the number of jobs, and of tombstones and claims.
    pub(crate) fn prune(&mut self, limit: usize) -> TxResult<(u64, u64)> {
        let mut pruned = 0;
        for state in [JobState::Succeeded, JobState::Dead, JobState::Cancelled] {
            while pruned < limit
                && let Some(job) = self.oldest_over_limit(state)?
            {
                self.delete_finished(&job)?;
                pruned += 1;
            }
        }
        let mut forgotten = self.prune_tombstones(limit - pruned)?;
        forgotten += self.prune_claims(limit - pruned - forgotten)?;
        Ok((pruned as u64, forgotten as u64))
    }

    /// The oldest finished job of a state, if it exceeds the limits.
    fn oldest_over_limit(&mut self, state: JobState) -> TxResult<Option<JobMeta>> {
        let keep = self.queue.settings.keep(state);
        let kept = *self.queue.counters.finished(state);
        if kept.count == 0 {
            return Ok(None);
        }
        let ended_by = if keep.is_exceeded(kept.count, kept.bytes) {
            Some(i64::MAX.cast_unsigned())
        } else {
            keep.age
                .and_then(|age| self.now_ms().checked_sub(as_ms(age)))
        };
        let Some(ended_by) = ended_by else {
            return Ok(None);
        };
        let oldest = "queue = ?1 AND state = ?2 AND finished_at <= ?3
                      ORDER BY finished_at, id LIMIT 1";
        let params = params![self.queue.key, state_number(state), ended_by];
        JobMeta::first(self.db, oldest, params)
    }

    /// Deletes claims that finished long ago.
    fn prune_claims(&mut self, limit: usize) -> TxResult<usize> {
        let before = claims_removed_before(Timestamp::from_ms(self.now_ms())).as_ms();
        let numbers: Vec<u64> = self.db.rows(
            "SELECT number FROM claim WHERE queue = ?1 AND finished_at < ?2
             ORDER BY finished_at, number LIMIT ?3",
            params![self.queue.key, before, limit],
            |row| Ok(row.get(0)?),
        )?;
        for number in &numbers {
            for table in ["claim", "claim_ids", "departure"] {
                let sql = format!("DELETE FROM {table} WHERE queue = ?1 AND number = ?2");
                self.db.run(&sql, params![self.queue.key, number])?;
            }
            self.changed();
        }
        Ok(numbers.len())
    }
}
