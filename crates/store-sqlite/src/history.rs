//! history: claims and maintenance take samples, a row per minute.

use rusqlite::{Connection, params};
use windlass_core::QueueName;
use windlass_core::history::{HISTORY_MINUTES, OpenMinute, first_minute, minute_of};
use windlass_core::store::{ClaimedJob, HistoryCounts, HistoryLevels, HistoryRow, Repair};
use windlass_core::time::Now;

use crate::error::{TxError, TxResult};
use crate::sql::Sql;
use crate::stats::Counters;
use crate::transaction::{QueueRow, QueueTx};

/// Writes the open minute of a queue.
pub(crate) const WRITE_OPEN: &str = "INSERT OR REPLACE INTO open_minute VALUES (?1, ?2)";

impl QueueTx<'_> {
    /// Takes a sample if one is due. `first` is the first job that a claim handed out.
    pub(crate) fn sample(&mut self, first: Option<&ClaimedJob>) -> TxResult<()> {
        let (key, now) = (self.queue.key, self.now.ms());
        let sampled_s = self.queue.counters.sampled_s;
        if !OpenMinute::is_due(sampled_s, now, first.is_some()) || !self.queue.is_stored() {
            return Ok(());
        }
        let (counts, levels) = sampled(&self.queue.counters);
        let mut open = open_minute(self.db, key)?.unwrap_or(OpenMinute::unknown(counts));
        let before = open.sampled_s;
        let wait = first.map(|job| job.waited_until(now));
        if let Some(row) = open.sample(now, counts, levels, wait) {
            let sql = "INSERT OR REPLACE INTO history VALUES (?1, ?2, ?3)";
            let minute = minute_of(row.minute);
            self.db.run(sql, params![key, minute, row.write()])?;
            let old = "DELETE FROM history WHERE queue = ?1 AND minute < ?2";
            let first = first_minute(now, HISTORY_MINUTES);
            self.db.run(old, params![key, first])?;
        } else if before > open.sampled_s {
            // The clock was set back.
            let later = "DELETE FROM history WHERE queue = ?1 AND minute >= ?2";
            self.db.run(later, params![key, minute_of(now)])?;
        }
        self.db.run(WRITE_OPEN, params![key, open.write()])?;
        self.queue.counters.sampled_s = open.sampled_s;
        self.changed();
        Ok(())
    }

    /// Deletes rows that cannot be read.
    pub(crate) fn audit_history(&mut self, repairs: &mut Vec<Repair>) -> TxResult<()> {
        let key = self.queue.key;
        for (minute, record) in records(self.db, key, 0)? {
            let row = HistoryRow::read(&record);
            if row.is_none_or(|row| minute_of(row.minute) != minute) {
                let sql = "DELETE FROM history WHERE queue = ?1 AND minute = ?2";
                self.db.run(sql, params![key, minute])?;
                repairs.push(Repair {
                    code: "history_unreadable",
                    id: None,
                    message: format!("deleted the row of minute {minute}"),
                });
            }
        }
        Ok(())
    }
}

pub(crate) fn read(
    db: &Connection,
    name: &QueueName,
    minutes: u32,
    clock_us: u64,
) -> TxResult<Vec<HistoryRow>> {
    let Some(queue) = QueueRow::find(db, name)? else {
        return Ok(Vec::new());
    };
    let now = Now::guard(queue.mark_us, clock_us).ms();
    let first = first_minute(now, minutes);
    let mut rows = Vec::new();
    for (_, record) in records(db, queue.key, first)? {
        let row = HistoryRow::read(&record);
        rows.push(row.ok_or_else(|| TxError::corrupt("history", &record))?);
    }
    if let Some(open) = open_minute(db, queue.key)? {
        let (counts, levels) = sampled(&queue.counters);
        rows.push(open.row(counts, levels));
    }
    rows.retain(|row| minute_of(row.minute) >= first);
    Ok(rows)
}

fn sampled(counters: &Counters) -> (HistoryCounts, HistoryLevels) {
    let levels = HistoryLevels {
        ready: counters.ready.iter().sum(),
        scheduled: counters.scheduled,
        running: counters.running,
        dead: counters.dead.count,
    };
    (HistoryCounts::new(&counters.total, counters.failed), levels)
}

/// The open minute of a queue; `None` if it is missing or cannot be read: a history must not stop a queue.
fn open_minute(db: &Connection, queue: i64) -> TxResult<Option<OpenMinute>> {
    let sql = "SELECT record FROM open_minute WHERE queue = ?1";
    let record: Option<String> = db.value(sql, [queue])?;
    Ok(record.and_then(|record| OpenMinute::read(&record)))
}

/// The rows from a minute on, oldest first.
fn records(db: &Connection, queue: i64, first: u64) -> TxResult<Vec<(u64, String)>> {
    db.rows(
        "SELECT minute, record FROM history WHERE queue = ?1 AND minute >= ?2 ORDER BY minute",
        params![queue, first],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
}
