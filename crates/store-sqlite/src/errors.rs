//! The record of a job's attempts, and the groups of errors of a queue.

use rusqlite::{Connection, Row, params};
use windlass_core::attempt::{AttemptRecord, StoredErrors};
use windlass_core::error_group::{HourCounts, example, normalize};
use windlass_core::limits::ERROR_GROUPS_MAX;
use windlass_core::store::{AttemptEnd, ErrorGroup, Fingerprint, Kind, Repair};
use windlass_core::time::Now;
use windlass_core::{BootId, QueueName, Timestamp, Token};

use crate::error::{TxError, TxResult};
use crate::row::{JobMeta, job_id};
use crate::sql::Sql;
use crate::transaction::{QueueRow, QueueTx};

/// The columns of a group.
const COLUMNS: &str =
    "kind, message, count, first_seen, last_seen, hours, last_job, example FROM error_group";

impl QueueTx<'_> {
    /// Records the attempt of a leased job that failed or expired.
    pub(crate) fn record_attempt(
        &mut self,
        job: &mut JobMeta,
        how: AttemptEnd,
        error: Option<&str>,
    ) -> TxResult<()> {
        let sql = "SELECT worker, error FROM job WHERE key = ?1";
        let row = self.db.first(sql, [job.key], |row| {
            let worker: Option<String> = row.get(0)?;
            let errors: Option<String> = row.get(1)?;
            Ok((worker, StoredErrors::read(errors.as_deref())))
        })?;
        let (worker, mut errors) = row.unwrap_or_default();
        let attempt = AttemptRecord {
            attempt: job.attempt,
            started_at: job.token.map_or(self.now.ms(), Token::issued_at),
            ended_at: self.now.ms(),
            worker: worker.and_then(|name| BootId::new(name).ok()),
            how,
            error: None,
        };
        errors.add(attempt, error);
        self.write_errors(job, &errors)
    }

    /// Clears the last error of a job that is retried. The record of its attempts stays.
    pub(crate) fn clear_error(&mut self, job: &mut JobMeta) -> TxResult<()> {
        let sql = "SELECT error FROM job WHERE key = ?1";
        let errors: Option<String> = self
            .db
            .first(sql, [job.key], |row| Ok(row.get(0)?))?
            .flatten();
        let mut errors = StoredErrors::read(errors.as_deref());
        errors.error = None;
        self.write_errors(job, &errors)
    }

    fn write_errors(&mut self, job: &mut JobMeta, errors: &StoredErrors) -> TxResult<()> {
        let text = errors.to_text();
        let bytes = text.as_ref().map_or(0, |text| text.len() as u64);
        self.queue.counters.resize(job.error_bytes, bytes);
        job.error_bytes = bytes;
        let sql = "UPDATE job SET error = ?2 WHERE key = ?1";
        self.db.run(sql, params![job.key, text])?;
        Ok(())
    }

    /// Counts an error in its group.
    pub(crate) fn count_error(&mut self, job: &JobMeta, error: &str) -> TxResult<()> {
        let (queue, now) = (self.queue.key, self.now.ms());
        let kind = "SELECT kind FROM job WHERE key = ?1";
        let kind: Option<String> = self
            .db
            .first(kind, [job.key], |row| Ok(row.get(0)?))?
            .flatten();
        let (kind, message) = (kind.unwrap_or_default(), normalize(error));
        let sql = "SELECT hours FROM error_group WHERE queue = ?1 AND kind = ?2 AND message = ?3";
        let hours: Option<String> = self.db.value(sql, params![queue, kind, message])?;
        let is_new = hours.is_none();
        let hours = hours.and_then(|hours| HourCounts::from_text(&hours));
        let mut hours = hours.unwrap_or_default();
        hours.add(now);
        if is_new {
            self.drop_oldest_group()?;
        }
        self.db.run(
            "INSERT INTO error_group (queue, kind, message, count, first_seen, last_seen, hours, last_job, example)
             VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET count = count + 1, last_seen = ?4, hours = ?5, last_job = ?6, example = ?7",
            params![
                queue,
                kind,
                message,
                now.as_ms(),
                hours.to_string(),
                job.id.as_str(),
                example(error)
            ],
        )?;
        Ok(())
    }

    /// Makes room for a new group.
    fn drop_oldest_group(&mut self) -> TxResult<()> {
        let sql = "SELECT count(*) FROM error_group WHERE queue = ?1";
        let count: Option<usize> = self.db.value(sql, [self.queue.key])?;
        if count.unwrap_or_default() < ERROR_GROUPS_MAX {
            return Ok(());
        }
        self.db.run(
            "DELETE FROM error_group WHERE (queue, kind, message) =
                 (SELECT queue, kind, message FROM error_group WHERE queue = ?1
                  ORDER BY last_seen, kind, message LIMIT 1)",
            [self.queue.key],
        )?;
        Ok(())
    }

    pub(crate) fn clear_error_group(&mut self, group: Fingerprint) -> TxResult<bool> {
        let sql = "SELECT kind, message FROM error_group WHERE queue = ?1";
        let keys: Vec<(String, String)> = self
            .db
            .rows(sql, [self.queue.key], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let is_it = |(kind, message): &&(String, String)| {
            let kind = Kind::new(kind).ok();
            Fingerprint::of_normalized(kind.as_ref(), message) == group
        };
        let Some(key) = keys.iter().find(is_it) else {
            return Ok(false);
        };
        self.delete_group(key)?;
        self.changed();
        Ok(true)
    }

    fn delete_group(&mut self, (kind, message): &(String, String)) -> TxResult<()> {
        let sql = "DELETE FROM error_group WHERE queue = ?1 AND kind = ?2 AND message = ?3";
        self.db.run(sql, params![self.queue.key, kind, message])?;
        Ok(())
    }

    /// Deletes groups that cannot be read.
    pub(crate) fn audit_error_groups(&mut self, repairs: &mut Vec<Repair>) -> TxResult<()> {
        let sql = format!("SELECT {COLUMNS} WHERE queue = ?1");
        let now = self.now;
        let unreadable = self.db.rows(&sql, [self.queue.key], |row| {
            let key: (String, String) = (row.get(0)?, row.get(1)?);
            Ok(read_group(row, now).is_err().then_some(key))
        })?;
        for key in unreadable.into_iter().flatten() {
            self.delete_group(&key)?;
            repairs.push(Repair {
                code: "error_group_unreadable",
                id: None,
                message: format!("deleted the group of the error {}", key.1),
            });
        }
        Ok(())
    }
}

/// The groups of errors of a queue, the one seen last first.
pub(crate) fn groups(
    db: &Connection,
    name: &QueueName,
    clock_us: u64,
) -> TxResult<Vec<ErrorGroup>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(Vec::new());
    };
    let now = Now::guard(queue.mark_us, clock_us);
    let sql = format!("SELECT {COLUMNS} WHERE queue = ?1");
    let groups = db.rows(&sql, [queue.key], |row| read_group(row, now))?;
    Ok(ErrorGroup::merge(groups))
}

fn read_group(row: &Row<'_>, now: Now) -> TxResult<ErrorGroup> {
    let (kind, hours, last_job): (String, String, String) = (row.get(0)?, row.get(5)?, row.get(6)?);
    let corrupt = |_| TxError::corrupt("kind of an error", &kind);
    let time = |index| -> TxResult<Timestamp> { Ok(Timestamp::from_ms(row.get(index)?)) };
    let counts = HourCounts::from_text(&hours);
    let counts = counts.ok_or_else(|| TxError::corrupt("hours of an error", &hours))?;
    Ok(ErrorGroup {
        kind: match kind.as_str() {
            "" => None,
            name => Some(Kind::new(name).map_err(corrupt)?),
        },
        message: row.get(1)?,
        count: row.get(2)?,
        first_seen: time(3)?,
        last_seen: time(4)?,
        hours: counts.last_day(now.ms()),
        last_job: job_id(&last_job)?,
        example: row.get(7)?,
    })
}
